#![no_main]

mod target;

target!(query);
