# Compression ratio against encoding speed, in a facet for each range of errors. Further right and
# further up is better. A line joins the cases that no other case of the facet beats in both. These
# cases have names; other cases have names if there is room.
names = 12
facet_title(f) = f == 1 ? 'error up to 0.03' : f == 2 ? 'error 0.03 to 0.3' : f == 3 ? 'error 0.3 to 0.7' : 'error above 0.7'
array size[4]
array unbeaten[4]
array baselines[4]
do for [f = 1:4] { size[f] = 0; unbeaten[f] = 0; baselines[f] = 0 }
stats plot_data using (f = int(column("facet")), size[f] = size[f] + 1, unbeaten[f] = unbeaten[f] + column("front"), baselines[f] = baselines[f] + column("baseline"), 1) nooutput
facets = ''
do for [f = 1:4] { if (size[f] > 0) { facets = facets.sprintf(' %d', f) } }
eval extent('ratio', 'column("ratio")', '1')
eval extent('speed', 'column("encode_gbps")', '1')
across = words(facets) > 1 ? 2 : 1
width = 330
gutter = 36 + 7.2 * (widest > 40 ? 40 : widest)
height = 290
eval open(75 + across * (width + gutter + 40), 130 + ((words(facets) + across - 1) / across) * (height + 55))
height_of(y) = (log(y) - log(log_low(speed_low, speed_high))) / (log(log_high(speed_low, speed_high)) - log(log_low(speed_low, speed_high)))
unset key
in_facet(x) = column("facet") == f ? x : NaN
array h[names]
array nx[names]
array ny[names]
array who[names]
if (!is_text) { set multiplot }
do for [p = 1:words(facets)] {
    f = int(word(facets, p))
    n = 0
    set yrange [*:*] # stats leaves out what is not in the range
    do for [front = 1:0:-1] {
        stats plot_data using (w = n < names && column("facet") == f && column("front") == front, n = n + w, i = n > 0 ? n : 1, \
            nx[i] = w ? column("ratio") : nx[i], ny[i] = w ? column("encode_gbps") : ny[i], who[i] = w ? int(column("series")) : who[i], 1) nooutput
    }
    eval log_axis('x', log_low(ratio_low, ratio_high), log_high(ratio_low, ratio_high), '')
    eval log_axis('y', log_low(speed_low, speed_high), log_high(speed_low, speed_high), '')
    do for [i = 1:n] { h[i] = height_of(ny[i]) }
    gap = (is_svg ? 15.0 : 14.0) / height
    eval spread
    unset label
    unset arrow
    group = facet_title(f)
    if (p == 1 || is_text) { eval is_text ? text_heading : heading }
    x0 = 75 + ((p - 1) % across) * (width + gutter + 40)
    y0 = 110 + ((p - 1) / across) * (height + 55)
    if (p + across > words(facets) || is_text) { set xlabel 'compression ratio, input bytes / message bytes' } else { unset xlabel }
    if (p % across == 1 || across == 1 || is_text) { set ylabel 'encoding speed, GB/s of input' } else { unset ylabel }
    eval box(x0, plot_width - x0 - width, y0, plot_height - y0 - height)
    set label 1 facet_title(f).sprintf(', %d method%s', size[f], size[f] == 1 ? '' : 's').(size[f] > n ? sprintf(' (%d without a name)', size[f] - n) : '') at graph 0, graph 1.04 left front
    if (is_text) {
        unset label 1
        do for [i = 1:n] {
            if (nx[i] > sqrt(ratio_low * ratio_high)) { set label 1 + i label[who[i]] at first nx[i], first ny[i] right offset -2, 0 front } \
            else { set label 1 + i label[who[i]] at first nx[i], first ny[i] left offset 2, 0 front }
        }
        plot plot_data using (in_facet(column("ratio"))):"encode_gbps" with points pointtype (1)
    } else {
        do for [i = 1:n] {
            set label 1 + i short(label[who[i]], 40) at graph 1 + 22.0 / width, graph h[i] left front font small textcolor rgb soft
            set arrow i from first nx[i], first ny[i] to graph 1 + 18.0 / width, graph h[i] nohead back linecolor rgb '#d8d8d8' linewidth 0.7
        }
        plot plot_data using (in_facet(column("front") == 1 ? column("ratio") : NaN)):"encode_gbps" with fsteps linecolor rgb '#b0b0b0' linewidth 2, \
            for [g = 1:size[f] > unbeaten[f]] '' using (in_facet(column("front") == 1 ? NaN : column("ratio"))):"encode_gbps" with points pointtype 7 pointsize 0.6*mark linecolor rgb '#909090', \
            '' using (in_facet(column("front") == 1 ? column("ratio") : NaN)):"encode_gbps" with points pointtype 7 pointsize mark linecolor rgb '#0072B2', \
            for [g = 1:baselines[f] > 0] '' using (in_facet(column("baseline") == 1 ? column("ratio") : NaN)):"encode_gbps" with points pointtype 6 pointsize 1.5*mark linecolor rgb '#000000'
    }
}
if (!is_text) { unset multiplot }
