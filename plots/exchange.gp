# Left: the time of an exchange by bandwidth or by workers. Right: how many times as fast it is as
# the best of fp32, fp16 and bf16. By workers, panels below show what the time is made of. Series
# with a name have labels with their errors and the kinds of error; other series are grey.
kinds = '"nearly exact" noise lasting ""'
kind_number(text) = text eq 'exact' ? 1 : text eq 'noise' ? 2 : 3
eval extent('place', 'column("place")', '1')
eval extent('time', 'column("seconds")', 'column("series") <= named')
eval extent('speedup', 'column("speedup_bar")', 'column("series") <= named')
speedup_low = speedup_low < 1 ? speedup_low : 1
speedup_high = speedup_high > 1 ? speedup_high : 1
speedup_low = speedup_low < speedup_high / 300 ? speedup_high / 300 : speedup_low # cuts off very slow curves, which would flatten all others
# For each series: its errors at both ends of the axis, its kind of error, and its last speed-up.
array from[series]
array to[series]
array kind[series]
array end[series]
do for [i = 1:series] { from[i] = -1 }
stats plot_data using (i = int(column("series")), x = or_else("error_of_mean", NaN), from[i] = from[i] == -1 ? x : from[i], to[i] = x, \
    kind[i] = strcol("kind"), end[i] = column("speedup_bar"), 1) nooutput
errors(i) = error_text(from[i]).(error_text(from[i]) eq error_text(to[i]) ? '' : ' to '.error_text(to[i])).(kind[i] eq '-' ? '' : ' '.(kind[i] eq 'exact' ? 'nearly exact' : kind[i]))
width = 400
height = 380
label_width = letter * widest + 10
panels = by_workers ? (named < 6 ? named : 6) : 0
eval extent('split', '1 / column("speedup_bar")', 'column("series") <= panels')
eval open(215 + 2 * width + label_width + 190, 88 + height + (panels > 0 ? 315 : 70))
x_axis = by_workers ? two_axis('x', place_low / 1.06, place_high * 1.03) : log_axis('x', place_low / 1.06, place_high * 1.03, 'b/s')
axis_of(a, b, unit) = log_axis('y', log_low(a, b), log_high(a, b), unit)
set xlabel (by_workers ? 'workers' : 'bandwidth of the link')
marks = members[1] < 3 ? members[1] : 3 # each series has a mark at each third place; neighbours at different places
ways = 'plot '.curves('column("place")', 'column("%s")', 'lines').', for [k = 1:named] plot_data using (row_of(k) ? column("place") : NaN):"%s" every 3::(k %% marks) with points linestyle k'
eval x_axis
if (!is_text) { set tics font small }
set key off
if (is_text) {
    # A panel for each kind of error, with the baselines.
    eval axis_of(speedup_low, speedup_high, '')
    set xlabel (by_workers ? 'workers' : 'bandwidth of the link').'; upwards: times as fast as the best of fp32, fp16, bf16'
    set key bottom outside center horizontal maxcols 1
    do for [p = 1:3] {
        chosen = ''
        others = 0
        do for [i = 1:named] { if (kind[i] eq '-') { chosen = chosen.sprintf(' %d', i) } else { if (kind_number(kind[i]) == p) { chosen = chosen.sprintf(' %d', i); others = 1 } } }
        if (others) {
            group = 'errors that are '.word(kinds, p)
            eval text_heading
            plot for [k in chosen] plot_data using (row_of(at(k)) ? column("place") : NaN):"speedup_bar" with points linestyle at(k) title label[at(k)].': error '.errors(at(k))
        }
    }
} else {
    set multiplot
    eval box(105, plot_width - 105 - width, 88, plot_height - 88 - height)
    eval axis_of(time_low, time_high, 's')
    set ylabel 'time of an exchange'
    eval sprintf(ways, 'seconds', 'seconds', 'seconds')
    eval close_heading
    eval box(185 + width, plot_width - 185 - 2 * width, 88, plot_height - 88 - height)
    eval axis_of(speedup_low, speedup_high, '')
    set ylabel 'times as fast as the best of fp32, fp16, bf16'
    set arrow 1000 from graph 0, first 1 to graph 1, first 1 nohead linecolor rgb '#000000' linewidth 1 back
    n = named
    array h[n > 0 ? n : 1]
    do for [i = 1:n] { h[i] = (log(end[i]) - log(log_low(speedup_low, speedup_high))) / (log(log_high(speedup_low, speedup_high)) - log(log_low(speedup_low, speedup_high))); h[i] = h[i] < 0 ? 0 : h[i] }
    array ends[n > 0 ? n : 1]
    do for [i = 1:n] { ends[i] = h[i] }
    gap = 17.0 / height
    eval spread
    x_label = (219 + 2 * width) / plot_width
    do for [i = 1:n] {
        set label i label[i] at screen x_label, graph h[i] left font small textcolor rgb ink[i]
        set label 100 + i errors(i) at screen x_label + label_width / plot_width, graph h[i] left font small textcolor rgb ink[i]
        set arrow i from graph 1, graph ends[i] to screen x_label - 4 / plot_width, graph h[i] nohead linecolor rgb colour[i] linewidth 0.8
    }
    set label 99 error_of at screen x_label + label_width / plot_width, graph 1.05 left font small textcolor rgb soft
    set label 98 grey.(grey eq '' ? '' : ' ways') at screen x_label, graph 1.05 left font small textcolor rgb '#707070'
    eval sprintf(ways, 'speedup_bar', 'speedup_bar', 'speedup_bar')
    unset label
    unset arrow
}
bar = '(row_of(s) ? column("place") : NaN):(0):(column("place") / 1.28):(column("place") * 1.28)'
if (panels > 0 && !is_text) {
    part(name) = column(name) / column("seconds") / column("speedup_bar") # in units of the best baseline's time
    part_colours = '#303030 #c0c0c0 #808080' # no method has these colours
    part_names = 'coding network adding'
    unset xlabel
    set xrange [place_low / 1.4:place_high * 1.4]
    set style fill solid 1 noborder
    unset logscale y
    set yrange [0:(split_high > 2 ? 2 : split_high) * 1.04]
    set ytics 0.5 font small
    set xtics font tiny
    set arrow 1 from graph 0, first 1 to graph 1, first 1 nohead front linecolor rgb '#000000' linewidth 1
    each = (plot_width - 110.0) / 6
    # The name of the way, and below it its parameters, both cut to the width of the panel.
    most = int((each - 20) / letter)
    fitted(text) = strlen(text) > most ? text[1:most - 1].'…' : text
    panel_title(text) = strstrt(text, ':') ? fitted(text[1:strstrt(text, ':') - 1])."\n".fitted(text[strstrt(text, ':') + 1:*]) : fitted(text)
    do for [k = 1:3] {
        set object k rectangle from screen (k * 120.0 - 35) / plot_width, screen 14 / plot_height to screen (k * 120.0 - 15) / plot_width, screen 26 / plot_height fillcolor rgb word(part_colours, k)
        set label 10 + k word(part_names, k) at screen (k * 120.0 - 8) / plot_width, screen 20 / plot_height left
    }
    do for [s = 1:panels] {
        eval box(90 + (s - 1) * each, plot_width - 90 - s * each + 16, plot_height - 205, 60)
        set label 2 panel_title(label[s]) at graph 0, graph 1.2 left font small textcolor rgb ink[s]
        if (s == 1) { set ylabel 'time / best baseline' } else { unset ylabel; set format y '' }
        plot plot_data using @bar:(0):(part("coding_seconds")) with boxxyerror linecolor rgb word(part_colours, 1), \
            '' using @bar:(part("coding_seconds")):(part("coding_seconds") + part("network_seconds")) with boxxyerror linecolor rgb word(part_colours, 2), \
            '' using @bar:(part("coding_seconds") + part("network_seconds")):(part("seconds")) with boxxyerror linecolor rgb word(part_colours, 3)
        unset object
        do for [k = 1:3] { unset label 10 + k }
    }
}
if (!is_text) { unset multiplot }
