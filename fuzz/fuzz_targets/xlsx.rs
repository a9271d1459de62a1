#![no_main]

mod target;

target!(xlsx);
