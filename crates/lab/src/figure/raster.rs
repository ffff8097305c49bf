//! Pictures as points: averaged from a larger drawing, and written as PNG.

/// The drawing is rendered this many times larger than the PNG and averaged over squares, which gives smooth lines.
pub(super) const OVERSAMPLING: u32 = 2;

/// Points of the PNG for each unit of the SVG, so that it is sharp in print.
pub(super) const SHARPNESS: u32 = 2;

/// The mean of each square of points.
pub(super) fn shrink(pixels: &[u8], (width, height): (u32, u32)) -> Vec<u8> {
    let (times, row) = (OVERSAMPLING as usize, (3 * OVERSAMPLING * width) as usize);
    let mut small = Vec::with_capacity((3 * width * height) as usize);
    for y in 0..height as usize {
        for x in 0..width as usize {
            for part in 0..3 {
                let at = |i: usize| {
                    pixels[(times * y + i / times) * row + 3 * (times * x + i % times) + part]
                };
                let sum: u32 = (0..times * times).map(|i| u32::from(at(i))).sum();
                small.push((sum / (times * times) as u32) as u8);
            }
        }
    }
    small
}

pub(super) fn encode(
    pixels: &[u8],
    (width, height): (u32, u32),
) -> std::result::Result<Vec<u8>, png::EncodingError> {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, width, height);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.write_header()?.write_image_data(pixels)?;
    Ok(bytes)
}
