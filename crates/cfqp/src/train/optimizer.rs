//! Gradient steps of a network.

use std::ops::Range;

use burn::module::Module;
use burn::tensor::{Device, Tensor};
use burn_optim::{GradientsAccumulator, GradientsParams, ModuleOptimizer};
use rayon::iter::{IndexedParallelIterator as _, IntoParallelIterator as _, ParallelIterator as _};

use crate::models::{Input, Mlp, Net, Network, Target};
use crate::nn::{Adam, Gradients, Perceptron, squared_error};

/// A network and its optimiser. Both variants give the same steps.
pub(super) enum NetworkOptimizer {
    /// Burn's autodiff graph and optimiser, for any network on any device.
    Graph(Box<Option<Net>>, ModuleOptimizer),
    /// Without a graph, for a multilayer perceptron on the CPU.
    Plain(Box<Mlp>, Perceptron),
}

impl NetworkOptimizer {
    /// Uses the variant without a graph if the network allows it.
    pub(super) fn new(net: Net, adam: Adam) -> Self {
        if let Net::Mlp(mlp) = &net
            && let Some(perceptron) = Perceptron::new(&mlp.maps().collect::<Vec<_>>(), adam)
        {
            return Self::Plain(Box::new(mlp.clone()), perceptron);
        }
        Self::Graph(Box::new(Some(net.train())), adam.init())
    }

    /// The device of the batches.
    pub(super) fn device(&self, device: &Device) -> Device {
        match self {
            Self::Graph(..) => device.clone().autodiff(),
            Self::Plain(..) => device.clone(),
        }
    }

    /// A copy of the network, for prediction.
    pub(super) fn net(&self, device: &Device) -> Net {
        match self {
            Self::Graph(net, _) => {
                net.as_ref().as_ref().expect("the network is only taken during a step").valid()
            }
            Self::Plain(mlp, perceptron) => {
                let mut mlp = Mlp::clone(mlp);
                perceptron.write_to(mlp.maps_mut(), device);
                Net::Mlp(mlp)
            }
        }
    }

    /// One step on a batch, and the loss before it. The batch is cut into `shards`, which `gather` collects and whose
    /// gradients are computed separately and added; `observed` is the number of observed elements of the batch.
    pub(super) fn step(
        &mut self,
        shards: &[Range<usize>],
        observed: usize,
        rate: f64,
        gather: impl Fn(Range<usize>) -> (Input, Target) + Sync,
    ) -> f64 {
        match self {
            Self::Graph(net_slot, optimizer) => {
                let net = net_slot.take().expect("the network is only taken during a step");
                let (loss, gradients) = graph_gradients(&net, shards, observed, gather);
                // the optimiser works in place if nothing else holds the parameters
                **net_slot = Some(optimizer.step(rate, net, gradients));
                loss
            }
            Self::Plain(mlp, perceptron) => {
                let shard_gradients = |shard: &Range<usize>| {
                    let (input, target) = gather(shard.clone());
                    let x = mlp.features(&input);
                    perceptron.loss_and_gradients(x, target.y, target.observed, observed.max(1) as f64)
                };
                let results: Vec<(f64, Gradients)> = map_parallel(shards, shard_gradients);
                let (losses, gradients): (Vec<f64>, Vec<Gradients>) = results.into_iter().unzip();
                perceptron.step(rate, &gradients);
                losses.iter().sum()
            }
        }
    }
}

/// The results of `work` on every shard, in their order, computed in parallel.
fn map_parallel<R: Send>(shards: &[Range<usize>], work: impl Fn(&Range<usize>) -> R + Sync + Send) -> Vec<R> {
    match shards {
        [shard] => vec![work(shard)], // no thread needs to wake
        _ => shards.into_par_iter().with_max_len(1).map(work).collect(),
    }
}

/// The loss and the gradients of a batch by autodiff.
fn graph_gradients(
    net: &Net,
    shards: &[Range<usize>],
    observed: usize,
    gather: impl Fn(Range<usize>) -> (Input, Target) + Sync,
) -> (f64, GradientsParams) {
    let shard_gradients = |net: &Net, shard: &Range<usize>| {
        let (input, target) = gather(shard.clone());
        let loss = mean_square(net.forward(&input), target, observed);
        let value = f64::from(loss.clone().into_scalar::<f32>());
        (value, GradientsParams::from_grads(loss.backward(), net))
    };
    if let [shard] = shards {
        return shard_gradients(net, shard);
    }
    let (mut total, mut gradients) = (0.0, GradientsAccumulator::new());
    // as many shards at a time as there are threads: the gradients of each are as large as the network
    for shards in shards.chunks(rayon::current_num_threads()) {
        // every shard has its own graph: shards of one graph would wait for each other
        let results = map_parallel(shards, |shard| shard_gradients(&net.valid().train(), shard));
        for (loss, shard) in results {
            total += loss;
            gradients.accumulate(net, shard);
        }
    }
    (total, gradients.grads())
}

/// The sum over units and observed elements of (output - y)^2, divided by their number, `observed`.
pub(super) fn mean_square(output: Tensor<2>, target: Target, observed: usize) -> Tensor<1> {
    // y is zero where it is missing
    let output = match target.observed {
        None => output,
        Some(observed) => output * observed,
    };
    squared_error(output, target.y, observed.max(1) as f64)
}
