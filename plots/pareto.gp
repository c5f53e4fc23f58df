# Compression ratio against encoding speed, in a facet for each range of errors. Further right and further up is better. A
# line joins the cases that no other case of the facet beats in both.
set logscale xy
set xrange [ratio_low:ratio_high]
set yrange [speed_low:speed_high]
set format '%g'
set xtics (@ratio_tics)
set ytics (@speed_tics)
if (is_text) {
    set xlabel 'ratio'
    set ylabel 'encode, GB/s'
    plot for [k = 1:series] for [f = 1:facets] plot_data index f - 1 using (column("series") == k ? column("ratio") : NaN):"encode" with points linestyle k, \
        for [k = 1:series] keyentry with points linestyle k title label[k]
} else {
    columns = facets > 1 ? 2 : 1
    left(f) = 70.0 + (f - 1 - (f - 1) / columns * columns) * (facet_width + 45)
    bottom(f) = plot_height - 108.0 - facet_height - (f - 1) / columns * (facet_height + 55)
    set multiplot
    do for [f = 1:facets] {
        set lmargin at screen left(f) / plot_width
        set rmargin at screen (left(f) + facet_width) / plot_width
        set bmargin at screen bottom(f) / plot_height
        set tmargin at screen (bottom(f) + facet_height) / plot_height
        set label 1 facet[f] at graph 0, screen (bottom(f) + facet_height + 11) / plot_height left front
        if (f + columns > facets) { set xlabel 'compression ratio, input bytes / message bytes' } else { unset xlabel }
        if ((f - 1) / columns * columns == f - 1) { set ylabel 'encoding speed, GB/s of input' } else { unset ylabel }
        if (f == 1 && unnamed > 0) { set key on at screen (70.0 + columns * (facet_width + 45)) / plot_width, screen (bottom(f) + facet_height) / plot_height left top Left reverse title 'without a label' left } else { unset key }
        if (f == 2) { unset label 1001; unset label 1002; unset label 1003 }
        plot plot_data index facets + f - 1 using "ratio":"encode" with fsteps linecolor rgb '#c0c0c0' linewidth 2.5, \
            for [k = 1:series] plot_data index f - 1 using (column("series") == k ? column("ratio") : NaN):"encode" with points linestyle k, \
            for [k = 1:series] '' index f - 1 using (column("series") == k ? column("label_ratio") : NaN):"label_encode":"label" with labels center font small textcolor rgb ink[k], \
            for [k = 1:unnamed_series] keyentry with points linestyle unnamed_of[k] title label[unnamed_of[k]]
    }
    unset multiplot
}
