#![no_main]

mod target;

target!(study);
