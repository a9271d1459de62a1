#![no_main]

mod target;

target!(checkpoint);
