#![no_main]

mod target;

target!(idx);
