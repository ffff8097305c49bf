//! Files for the environments that read them, the same in every run: a newspaper's articles with readers' ratings, and people of four classes.

use std::{fmt::Write, path::Path};

use reticent::noise::Noise;

use crate::{FastNoise, Result, report::html as report};

const SEED: u64 = 8;

/// Articles with a length and a topic, readers with an age: the young like science and short pieces, the old politics and long ones.
pub(super) fn items(folder: &Path) -> Result<String> {
    const TOPICS: [&str; 3] = ["politics", "sport", "science"];
    let mut noise = FastNoise::seeded(SEED);
    let mut whole = |low: u64, high: u64| low + noise.below(high - low + 1);
    let articles: Vec<(u64, usize)> =
        (0..60).map(|_| (whole(200, 2000), whole(0, 2) as usize)).collect();
    let mut items = String::from("item,words,topic\n");
    for (number, (words, topic)) in articles.iter().enumerate() {
        let _ = writeln!(items, "article {number},{words},{}", TOPICS[*topic]);
    }
    let mut people = String::from("person,age\n");
    let mut ratings = String::from("person,item,rating\n");
    for person in 0..2000 {
        let age = noise.below(63) + 18;
        let _ = writeln!(people, "reader {person},{age}");
        let old = (age as f64 - 49.0) / 31.0;
        // Six neighbours on the shelf, whose lengths and topics were drawn independently.
        let first = noise.below(60) as usize;
        for number in (first..first + 6).map(|number| number % 60) {
            let (words, topic) = articles[number];
            let long = (words as f64 - 1100.0) / 900.0;
            let taste = [0.9 * old, 0.0, -0.9 * old][topic];
            let liking = 3.0 + 0.9 * old * long + taste + 0.5 * noise.standard_normal();
            let rating = liking.round().clamp(1.0, 5.0);
            let _ = writeln!(ratings, "reader {person},article {number},{rating}");
        }
    }
    for (name, text) in [("articles.csv", items), ("readers.csv", people), ("ratings.csv", ratings)]
    {
        report::write(folder, name, text)?;
    }
    let path = |name: &str| format!("{:?}", folder.join(name));
    Ok(format!(
        "kind = \"items\"\nitems = {}\nratings = {}\npeople = {}\nrewards = [1, 5]\nranges = {{ words = [200, 2000], age = [18, 80] }}\ncategories = {{ topic = [\"politics\", \"sport\", \"science\"] }}",
        path("articles.csv"),
        path("ratings.csv"),
        path("readers.csv")
    ))
}

/// Four classes, the commonest of which has half of the people, with four numbers each whose means differ by class.
pub(super) fn table(folder: &Path) -> Result<String> {
    const CENTRES: [[f64; 4]; 4] =
        [[0.0, 0.0, 0.0, 0.0], [1.5, 0.0, -1.0, 0.5], [-1.0, 1.5, 0.5, 0.0], [0.0, -1.5, 1.0, 1.0]];
    let mut noise = FastNoise::seeded(SEED + 1);
    let mut text = String::from("a,b,c,d,class\n");
    for _ in 0..4000 {
        let class = [0, 0, 0, 1, 2, 3][noise.below(6) as usize];
        for centre in CENTRES[class] {
            let _ = write!(text, "{:.4},", centre + 0.8 * noise.standard_normal());
        }
        let _ = writeln!(text, "class {class}");
    }
    report::write(folder, "people.csv", text)?;
    Ok(format!(
        "kind = \"table\"\nfile = {:?}\nlabel = \"class\"\nranges = {{ a = [-4, 4], b = [-4, 4], c = [-4, 4], d = [-4, 4] }}",
        folder.join("people.csv")
    ))
}
