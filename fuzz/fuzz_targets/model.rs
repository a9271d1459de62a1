#![no_main]

mod target;

target!(model);
