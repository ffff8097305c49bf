//! A batch shows neither order nor sender: the order is uniform, and a sender who stands out on the way in does not on the way out.

use reticent::noise::Noise;

use super::*;

/// `P(chi2_k > k + 2 sqrt(k x) + 2 x) <= exp(-x)` (Laurent and Massart 2000), here at a false-alarm rate of 1e-7.
fn far_from_uniform(counts: &[u64]) -> bool {
    let expected = counts.iter().sum::<u64>() as f64 / counts.len() as f64;
    let statistic: f64 =
        counts.iter().map(|count| (*count as f64 - expected).powi(2) / expected).sum();
    let (freedom, x) = ((counts.len() - 1) as f64, 1e7_f64.ln());
    statistic > freedom + 2.0 * (freedom * x).sqrt() + 2.0 * x
}

/// Randomness that is none: a permutation by it leaves everything where it was.
struct Arrival;

impl Noise for Arrival {
    const PROTECTS_PEOPLE: bool = false;
    const NAME: &'static str = "arrival";

    fn bits(&mut self) -> u64 {
        u64::MAX
    }

    fn refresh(&mut self) -> reticent::Result<()> {
        Ok(())
    }

    fn split(&mut self) -> reticent::Result<Self> {
        Ok(Arrival)
    }
}

/// The bytes that leave for four reports that come in this order: from the shuffler itself, or from one without randomness.
async fn mixed(world: &World, envelopes: &[Envelope], planted: bool) -> SealedBatch {
    let addresses = ["10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.4"];
    for (envelope, address) in envelopes.iter().zip(addresses) {
        assert_eq!(world.take(envelope, address).await.unwrap(), Taken::Taken);
    }
    let loop_ = world.loop_();
    let consumed = loop_.state().consumed;
    let rows = waiting::pick(world.store.as_ref(), loop_.generation().unwrap(), consumed, None, 4)
        .await
        .unwrap();
    let number = loop_.batches();
    assert_eq!(world.forward().await.unwrap(), Forwarded::Sent(number));
    let bytes = match planted {
        false => world.server.received.lock().unwrap().last().unwrap().clone(),
        true => {
            let reports = rows.unwrap().reports;
            forward::contents(loop_, number, reports, key(2).public().id(), &mut Arrival).unwrap()
        }
    };
    SealedBatch::read(loop_.subject(), 4, &bytes).unwrap()
}

/// Counts of the 24 orders in which four reports left, of a thousand batches.
async fn orders(planted: bool) -> [u64; 24] {
    let world = World::new("sealed", 4, 4).await;
    let mut orders = [0_u64; 24];
    for _ in 0..1000 {
        let envelopes: Vec<Envelope> = (0..4).map(|_| world.envelope()).collect();
        let batch = mixed(&world, &envelopes, planted).await;
        let place = |id: &[u8; 16]| envelopes.iter().position(|one| one.id == *id).unwrap();
        let order: Vec<usize> = batch.reports.iter().map(|(id, _)| place(id)).collect();
        let rank = |i: usize| order[i + 1..].iter().filter(|later| **later < order[i]).count();
        orders[rank(0) * 6 + rank(1) * 2 + rank(2)] += 1;
    }
    orders
}

#[tokio::test]
async fn the_order_is_uniform_and_that_of_arrival_is_noticed() {
    let found = orders(false).await;
    assert!(!far_from_uniform(&found), "{found:?}");
    assert!(far_from_uniform(&orders(true).await));
    // Planted too: one report that is moved to a random place, and the others as they came.
    let mut moved = [0; 24];
    [0, 6, 12, 18].iter().for_each(|order| moved[*order] = 250);
    assert!(far_from_uniform(&moved));
}

/// Counts, by place in its batch, of the report of one sender, who comes first and under an older model than the others. Every report is sent again
/// with later batches, from another address.
async fn places_of_the_first(planted: bool) -> [u64; 4] {
    let world = World::new("sealed", 4, 4).await;
    let mut places = [0; 4];
    let mut sent: Vec<Envelope> = Vec::new();
    for round in 0..400 {
        for envelope in sent.iter().rev().take(12).step_by(2) {
            let again = world.take(envelope, &format!("10.1.0.{round}")).await;
            assert!(matches!(again, Ok(Taken::Duplicate) | Err(Error::Late(_))), "{again:?}");
        }
        let mut envelopes = vec![world.envelope()];
        world.tick(1).await;
        envelopes.extend((0..3).map(|_| world.envelope()));
        assert!(envelopes[0].model < envelopes[1].model);
        let batch = mixed(&world, &envelopes, planted).await;
        let place = batch.reports.iter().position(|(id, _)| *id == envelopes[0].id).unwrap();
        places[place] += 1;
        sent.extend(envelopes);
    }
    // What several batches have in common would be one sender's: every id stands in one of them.
    let all = world.server.batches().concat();
    assert_eq!(all.len(), 1600);
    assert_eq!(all.into_iter().collect::<BTreeSet<_>>().len(), 1600);
    places
}

#[tokio::test]
async fn whoever_comes_first_under_another_model_or_again_is_not_found_in_what_leaves() {
    let found = places_of_the_first(false).await;
    assert!(!far_from_uniform(&found), "{found:?}");
    assert!(far_from_uniform(&places_of_the_first(true).await));
}
