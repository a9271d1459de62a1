//! A network that learns: where its gradients come from and how a step changes it.

use std::ops::Range;

use burn::module::Module;
use burn::optim::{GradientsAccumulator, GradientsParams, ModuleOptimizer};
use burn::tensor::{Device, Tensor};
use rayon::iter::{IndexedParallelIterator as _, IntoParallelIterator as _, ParallelIterator as _};

use crate::data::Target;
use crate::models::{Input, Mlp, Net, Network};
use crate::nn::{Adam, Gradients, Perceptron, squared_error};

/// Two ways to the same steps.
pub(super) enum Learner {
    /// Burn's graph and optimizer, for any network on any device.
    Graph(Box<Option<Net>>, ModuleOptimizer),
    /// By hand, for a perceptron on the CPU.
    Plain(Box<Mlp>, Perceptron),
}

impl Learner {
    pub fn new(net: Net, adam: Adam) -> Self {
        if let Net::Mlp(mlp) = &net
            && let Some(perceptron) = Perceptron::new(&mlp.maps().collect::<Vec<_>>(), adam)
        {
            return Self::Plain(Box::new(mlp.clone()), perceptron);
        }
        Self::Graph(Box::new(Some(net.train())), adam.init())
    }

    /// Where batches must be.
    pub fn device(&self, device: &Device) -> Device {
        match self {
            Self::Graph(..) => device.clone().autodiff(),
            Self::Plain(..) => device.clone(),
        }
    }

    /// The network as it is now, for prediction.
    pub fn net(&self, device: &Device) -> Net {
        match self {
            Self::Graph(net, _) => net.as_ref().as_ref().expect("there is one between steps").valid(),
            Self::Plain(mlp, perceptron) => {
                let mut mlp = Mlp::clone(mlp);
                perceptron.write_to(mlp.maps_mut(), device);
                Net::Mlp(mlp)
            }
        }
    }

    /// One step on a batch with so many observed elements, of which `gather` puts a range together, cut into `shards`
    /// of which each has gradients of its own; the loss before it.
    pub fn step(
        &mut self,
        shards: &[Range<usize>],
        observed: usize,
        rate: f64,
        gather: impl Fn(Range<usize>) -> (Input, Target) + Sync,
    ) -> f64 {
        match self {
            Self::Graph(own, optimizer) => {
                let net = own.take().expect("there is one between steps");
                let (loss, gradients) = by_graph(&net, shards, observed, gather);
                // the optimiser works in place as long as nobody else holds the parameters
                **own = Some(optimizer.step(rate, net, gradients));
                loss
            }
            Self::Plain(mlp, perceptron) => {
                let learn = |shard: &Range<usize>| {
                    let (input, target) = gather(shard.clone());
                    let x = mlp.features(&input);
                    perceptron.learn(x, target.y, target.observed, observed.max(1) as f64)
                };
                let learned: Vec<(f64, Gradients)> = side_by_side(shards, learn);
                let (losses, gradients): (Vec<f64>, Vec<Gradients>) = learned.into_iter().unzip();
                perceptron.step(rate, &gradients);
                losses.iter().sum()
            }
        }
    }
}

/// Each shard on a thread of its own; results in their order.
fn side_by_side<R: Send>(shards: &[Range<usize>], work: impl Fn(&Range<usize>) -> R + Sync + Send) -> Vec<R> {
    match shards {
        [one] => vec![work(one)], // no thread to wake
        _ => shards.into_par_iter().with_max_len(1).map(work).collect(),
    }
}

/// Loss and gradients of a batch.
fn by_graph(
    net: &Net,
    shards: &[Range<usize>],
    observed: usize,
    gather: impl Fn(Range<usize>) -> (Input, Target) + Sync,
) -> (f64, GradientsParams) {
    let learn = |net: &Net, shard: &Range<usize>| {
        let (input, target) = gather(shard.clone());
        let loss = mean_square(net.forward(&input), target, observed);
        let value = f64::from(loss.clone().into_scalar::<f32>());
        (value, GradientsParams::from_grads(loss.backward(), net))
    };
    if let [all] = shards {
        return learn(net, all);
    }
    let (mut total, mut gradients) = (0.0, GradientsAccumulator::new());
    // as many at a time as there are threads: every shard's gradients are as large as the network
    for some in shards.chunks(rayon::current_num_threads()) {
        // leaves of its own: shards of one graph would wait for each other
        for (loss, shard) in side_by_side(some, |shard| learn(&net.valid().train(), shard)) {
            total += loss;
            gradients.accumulate(net, shard);
        }
    }
    (total, gradients.grads())
}

/// Sum over units and observed elements of (output - y)^2, by so many of them.
pub(super) fn mean_square(output: Tensor<2>, target: Target, observed: usize) -> Tensor<1> {
    // y is zero where it was not observed
    let output = match target.observed {
        None => output,
        Some(observed) => output * observed,
    };
    squared_error(output, target.y, observed.max(1) as f64)
}
