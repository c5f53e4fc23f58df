# How many codes lie in each octave below the largest value (left axis). Grey: the share of the gradient's values in each
# octave (right axis). A format suits the values if the grey octaves have codes.
set xlabel 'magnitude / largest magnitude'
set ylabel 'codes per octave, one sign'
set logscale y 2
set yrange [0.8:codes_high * 1.6]
set xrange [-40:0.5]
set xtics ('1' 0, '2^-8' -8, '2^-16' -16, '2^-24' -24, '2^-32' -32, '2^-40' -40)
set style fill solid 1 noborder
set boxwidth 0.9
set key right top
if (has_values) {
    set y2label 'share of values per octave'
    set y2range [0:*]
    set y2tics nomirror out scale 0.6
    set border 11
    plot plot_data index 0 using "value":"share" axes x1y2 with boxes linecolor rgb '#dcdcdc' title 'gradient', \
        for [i = 1:series] '' index i using "value":"codes" with linespoints linestyle line_of(i) title label[i]
} else {
    plot for [i = 1:series] plot_data index i using "value":"codes" with linespoints linestyle line_of(i) title label[i]
}
