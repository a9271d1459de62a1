//! The worlds of `cfqp simulate table`.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

use cfqp::sim::TableWorld;

/// The world that is drawn from a seed.
const RANDOM: &str = "random";

/// A value of `--world`.
#[derive(Clone, Copy, Debug)]
pub(super) enum WorldChoice {
    Fixed(TableWorld),
    Random,
}

/// Parses the name of a world; the help lists the worlds.
pub(super) fn world_parser() -> impl TypedValueParser<Value = WorldChoice> {
    let value = |world: TableWorld| PossibleValue::new(world.name()).help(describe_world(world));
    let random = PossibleValue::new(RANDOM).help("a scenario of which everything is drawn from --world-seed");
    PossibleValuesParser::new(TableWorld::ALL.map(value).into_iter().chain([random])).try_map(|name| {
        let world = TableWorld::ALL.into_iter().find(|world| world.name() == name);
        match world {
            Some(world) => Ok(WorldChoice::Fixed(world)),
            None if name == RANDOM => Ok(WorldChoice::Random),
            None => Err(format!("there is no world {name}")),
        }
    })
}

fn describe_world(world: TableWorld) -> &'static str {
    match world {
        TableWorld::Crossing => "three dose curves that cross",
        TableWorld::Prior => "the same; the class depends on x",
        TableWorld::ClassDrivesTreatment => "two classes far apart, which received different doses",
        TableWorld::ConfoundedByX => "two crossing classes; the dose depends on x",
        TableWorld::Slopes => "no classes: every subject has its own slope",
        TableWorld::BinaryTreatment => "a treatment of 0 or 1; one of two classes responds",
        TableWorld::Heavy => "crossing, with heavy-tailed noise (Student's t, 3 degrees of freedom)",
        TableWorld::Skewed => "one class with skewed noise (exponential)",
        TableWorld::Lognormal => "two classes, positive outcomes with noise on the log scale",
        TableWorld::Many => "five classes",
        TableWorld::Wide => "three classes, 30 covariates of which four matter",
        TableWorld::NoSeparation => "two classes that differ by much less than the noise",
        TableWorld::SeveralTreatments => "two treatments, three classes that respond to them differently",
        TableWorld::Single => "one class, a smooth response",
        TableWorld::YesNo => "a yes/no outcome, two classes that respond strongly and weakly",
        TableWorld::Count => "counts (negative binomial), two classes",
        TableWorld::Category => "one of three levels without an order, two classes",
        TableWorld::Amount => "zero or a positive amount (log-normal), two classes",
        TableWorld::Arms => "a treatment with three levels, two classes that respond oppositely",
    }
}
