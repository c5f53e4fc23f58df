# A panel for each method: shares of values by sign and magnitude, on logarithmic axes. Exact zeros are in the middle.
set style fill solid 1 noborder
set logscale y
edge = 0.5 + decades
set xrange [-edge:edge]
set yrange [1e-7:2]
set ytics (1, 0.01, 0.0001, 0.000001) font small
step = decades > 6 ? 2 : 1
set xtics ('0' 0) font small
if (decades > 4) step = 2
set boxwidth column
if (is_text) {
    set key top right
    plot plot_data index 0 using "position":"share" with impulses title 'gradient'
} else {
    set multiplot
    do for [p = 1:panels] {
        eval cell(p)
        set xtics ((is_lowest(p) ? '0' : '') 0) font small
        if (is_lowest(p)) { do for [d = int(decades) - 1:1:-step] { set xtics add (sprintf('1e%d', floor_decade + d) 0.5 + d); set xtics add (sprintf('-1e%d', floor_decade + d) -0.5 - d) } }
        if (is_lowest(p)) { set xlabel 'value, logarithmic on both sides' font small } else { unset xlabel }
        if (methods > 0) {
            plot plot_data index 0 using "position":"share" with boxes linecolor rgb '#c4c4c4' title 'before', \
                '' index p using "position":"share" with histeps linecolor rgb '#0072B2' linewidth 1.2 title 'after', \
                '' index p using "position":"zeros" with impulses linecolor rgb '#D55E00' linewidth 3 title 'zeros after'
        } else {
            plot plot_data index 0 using "position":"share" with boxes linecolor rgb '#a0a0a0' notitle
        }
    }
    unset multiplot
}
