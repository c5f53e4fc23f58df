# Compression ratio against relative L2 error: higher and further left is better.
set xlabel 'relative L2 error'
set ylabel 'compression ratio, input bytes / message bytes'
set logscale xy
set xrange [x_low:x_high]
set yrange [y_low:y_high]
set format '%g'
set xtics (@error_tics)
set ytics (@y_tics)
# Exact methods, baselines far below the other methods, and very large errors are in strips at the ends of the axis.
strip(x) = sprintf('set arrow from first %g, graph 0 to first %g, graph 1 nohead back linecolor rgb "#909090" dashtype 3', x, x)
if (error_below == error_below) { eval strip(strip_low); set xtics add (sprintf('< %.1g', strip_low) error_below) }
if (error_above == error_above) { eval strip(strip_high); set xtics add (sprintf('> %.1g', strip_high) error_above) }
eval draw_curves
