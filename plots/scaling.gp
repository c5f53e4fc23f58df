# Top: the time of an exchange, and how many times as fast it is as the best of fp32, fp16 and bf16. Below: what the time is made
# of, for that best one and for the best ways. The ways worth a name have labels, with their errors; the others are grey.
exchange_x = 'workers'
set logscale x 2
place_tics = '2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536'
eval exchange_panels
if (!is_text) {
    part(name) = column(name) / column("seconds") / column("speedup_bar") # in units of the best baseline's time
    part_colours = '#303030 #c0c0c0 #808080' # no method's own
    part_names = 'coding network adding'
    unset arrow
    unset label 98
    unset label 99
    do for [i = 1:named] { unset label i; unset label 100 + i }
    set xlabel exchange_x
    set xrange [place_low / 1.4:place_high * 1.4]
    set style fill solid 1 noborder
    unset logscale y
    set yrange [0:split_high * 1.04]
    set ytics 0.5 font small
    set format y '%g'
    set xtics font small
    set arrow 1 from graph 0, first 1 to graph 1, first 1 nohead front linecolor rgb '#000000' linewidth 1
    width = (plot_width - 100.0 - 20) / 6
    # the name, and below it the parameters, each cut to the width of its panel
    most = int((width - 14) / 6.2)
    fitted(text) = strlen(text) > most ? text[1:most - 1].'…' : text
    panel_title(text) = strstrt(text, ':') ? fitted(text[1:strstrt(text, ':') - 1])."\n".fitted(text[strstrt(text, ':') + 1:*]) : fitted(text)
    do for [k = 1:3] {
        set object k rectangle from screen (k * 120.0 - 35) / plot_width, screen 16.0 / plot_height to screen (k * 120.0 - 15) / plot_width, screen 28.0 / plot_height fillcolor rgb word(part_colours, k)
        set label 10 + k word(part_names, k) at screen (k * 120.0 - 8) / plot_width, screen 22.0 / plot_height left
    }
    do for [s = 1:splits] {
        set lmargin at screen (100.0 + (s - 1) * width) / plot_width
        set rmargin at screen (100.0 + s * width - 14) / plot_width
        set bmargin at screen 92.0 / plot_height
        set tmargin at screen 242.0 / plot_height
        set label 2 panel_title(label[s]) at graph 0, graph 1.18 left font small textcolor rgb ink[s]
        if (s == 1) { set ylabel 'time / best baseline' } else { unset ylabel; set format y '' }
        plot plot_data index s - 1 using "place":(0):(column("place") / 1.28):(column("place") * 1.28):(0):(part("coding_seconds")) with boxxyerror linecolor rgb word(part_colours, 1), \
            '' index s - 1 using "place":(0):(column("place") / 1.28):(column("place") * 1.28):(part("coding_seconds")):(part("coding_seconds") + part("network_seconds")) with boxxyerror linecolor rgb word(part_colours, 2), \
            '' index s - 1 using "place":(0):(column("place") / 1.28):(column("place") * 1.28):(part("coding_seconds") + part("network_seconds")):(part("seconds")) with boxxyerror linecolor rgb word(part_colours, 3)
        unset object
        do for [k = 1:3] { unset label 10 + k }
    }
    unset multiplot
}
