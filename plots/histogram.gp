# A panel for each method. Grey: values before; blue: values after. Exact zeros are left out and counted above.
set style fill solid 1 noborder
set xrange [-limit:limit]
set yrange [0:most * 1.25]
set format x '%g'
set format y '%g'
set xtics limit * 0.8 font small
set mxtics 2
set ytics font small
set samples 2
if (is_text) {
    set key top right
    plot plot_data index 0 using "value":"share" with impulses title 'gradient'
} else {
    set multiplot
    do for [p = 1:panels] {
        eval cell(p)
        set format x (is_lowest(p) ? '%.1g' : '')
        if (is_lowest(p)) { set xlabel 'value' font small } else { unset xlabel }
        if (methods > 0) {
            plot plot_data index 0 using "value":"share" with boxes linecolor rgb '#c4c4c4' title 'before', \
                '' index p using "value":"share" with histeps linecolor rgb '#0072B2' linewidth 1.2 title 'after'
        } else {
            plot plot_data index 0 using "value":"share" with boxes linecolor rgb '#a0a0a0' notitle
        }
    }
    unset multiplot
}
