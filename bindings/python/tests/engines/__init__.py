"""What the tests of all engines share: units, a model, and the contract that every engine keeps."""
