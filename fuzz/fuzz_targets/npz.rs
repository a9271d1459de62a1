#![no_main]

mod target;

target!(npz);
