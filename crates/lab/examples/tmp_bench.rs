fn main() {
    for f in reticent_lab::bench::simulate_figures().unwrap() {
        println!("{:8.2} {}", f.measured, f.what);
    }
}
