# Cosine of gradient and reconstruction against bits per element: higher and further left is better.
set xlabel 'bits per element, all bytes counted'
set logscale x
set xrange [log_low(bits_low, bits_high):log_high(bits_low, bits_high)]
set xtics (0.003, 0.01, 0.03, 0.1, 0.3, 1, 2, 4, 8, 16, 32)
set ylabel 'cosine of gradient and reconstruction'
set yrange [low(cosine_low, cosine_high):high(cosine_low, cosine_high)]
plot for [k in curves] plot_data index at(k) - 1 using "bits":"cosine" with linespoints linestyle line_of(style[at(k)]) title label[at(k)], \
    for [k in singles] plot_data index at(k) - 1 using "bits":"cosine" with points linestyle line_of(style[at(k)]) title label[at(k)]
