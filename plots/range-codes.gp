# How many codes lie in each octave below the largest value (left axis). Grey: the share of the gradient's values in each
# octave (right axis). A format suits the values if the grey octaves have codes. Formats with equal numbers of codes in
# an octave are drawn a little apart.
set xlabel 'magnitude / largest magnitude'
set ylabel 'codes per octave, one sign'
set logscale y 2
set yrange [0.8:codes_high * 2]
set xrange [octave_low - 3:0.5]
set xtics ('1' 0, '2⁻⁸' -8, '2⁻¹⁶' -16, '2⁻²⁴' -24, '2⁻³²' -32, '2⁻⁴⁰' -40)
set style fill solid 1 noborder
set boxwidth 0.9
if (has_values) {
    set y2label 'share of values per octave'
    set y2range [0:*]
    set y2tics nomirror out scale 0.6
    set border 11
    set rmargin at screen 1 - 310.0 / plot_width
    set key at screen 1 - 225.0 / plot_width, graph 1 left top
    plot plot_data index 0 using "value":"share" axes x1y2 with boxes linecolor rgb '#dcdcdc' title 'gradient', \
        for [i = 1:series] '' index i using "value":"place" with linespoints linestyle i title label[i]
} else {
    plot for [i = 1:series] plot_data index i using "value":"place" with linespoints linestyle i title label[i]
}
