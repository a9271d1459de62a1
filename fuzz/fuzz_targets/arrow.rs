#![no_main]

mod target;

target!(arrow);
