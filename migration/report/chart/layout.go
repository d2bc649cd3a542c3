package chart

import (
	"cmp"
	"fmt"
	"strconv"
	"time"
	"unicode/utf8"
)

// Positions and sizes in units of the image.
const (
	wide        = 960.0
	leftEdge    = 110.0
	rightEdge   = 12.0
	topEdge     = 46.0
	mostLeft    = 300.0
	letter      = 6.5 // width of a letter of a label
	tallLane    = 18.0
	lowLane     = 3.0
	lowSet      = 9.0   // minimum height of a lane that is an application, so that all have a label
	mostLanes   = 900.0 // maximum total height of the lanes, while they can be told apart
	tallPicture = 500.0 // height of lanes of which a screen does not show the top and the bottom at once
	tallText    = 12.0  // height of the letters of a label
	levels      = 110.0 // height of the curve of available replicas
	gap         = 34.0
	labelEvery  = 13.0 // minimum distance of labels of ordinals
	bottom      = 46.0
	tickRoom    = 60.0 // width of the label of a time
	mostTicks   = 8
	planShare   = 0.3 // height of a planned time, as a share of its lane
)

// Widths of the names of the sides in the legend.
const (
	sourceRoom      = 295.0
	sourceRoomShort = 190.0 // beside the legend of a plan
	targetRoom      = 350.0
)

// view is a chart with the positions of everything that is drawn.
type view struct {
	Chart
	Width, Height         float64
	Left, Right           float64
	LanesTop, LanesBottom float64
	// Text is the height of the letters of the labels.
	Text                    float64
	LevelsTop, LevelsBottom float64
	Rows                    []row
	Ticks                   []tick
	Bands                   []band
	Plans                   bool
	Curve                   string
	BudgetLine              float64
	BudgetText, Most        string
	AxisText                string
}

type row struct {
	Label, Mark    string
	Y, Middle      float64
	Planned        *bar
	Bars           []bar
	Height         float64
	LabelIsWritten bool
}

type bar struct {
	Place     Place
	X, Width  float64
	Y, Height float64
	Text      string
}

type tick struct {
	X     float64
	Label string
	// Last is true if the label does not fit to the right.
	Last bool
}

type band struct {
	X, Width float64
	Label    string
	Nth      int
}

// layout computes all positions.
func layout(c Chart) view {
	if !c.End.After(c.Begin) {
		c.End = c.Begin.Add(time.Second)
	}
	c.Away = cmp.Or(c.Away, "on its way")
	v := view{Chart: c, Width: wide, Left: c.left(), Right: wide - rightEdge, LanesTop: topEdge}
	each := min(tallLane, max(c.lowest(), mostLanes/float64(max(1, len(c.Lanes)))))
	v.LanesBottom = v.LanesTop + each*float64(len(c.Lanes))
	v.LevelsTop, v.LevelsBottom = v.LanesBottom, v.LanesBottom
	if c.Replicas > 0 {
		v.LevelsTop += gap
		v.LevelsBottom = v.LevelsTop + levels
	}
	v.Height = v.LevelsBottom + bottom
	v.lanes(each)
	for i, stop := range c.Stops {
		x, width := v.across(stop.From, stop.To)
		v.Bands = append(v.Bands, band{x, max(1, width), stop.Label, i + 1})
	}
	v.ticks()
	v.curve()
	return v
}

// lowest returns the minimum height of a lane.
func (c Chart) lowest() float64 {
	if c.Replicas == 0 {
		return lowSet
	}
	return lowLane
}

// lanes places the lanes, of that height.
func (v *view) lanes(each float64) {
	written, apart := -labelEvery, labelEvery
	if v.Replicas == 0 {
		apart = each
	}
	v.Text = min(tallText, each*0.9)
	for i, lane := range v.Lanes {
		r := row{Label: fitting(lane.label(), v.Left-2*rightEdge), Mark: lane.Mark, Y: v.LanesTop + each*float64(i), Height: each * 0.8}
		r.Middle = r.Y + r.Height/2
		if r.Y-written >= apart-0.01 {
			r.LabelIsWritten, written = true, r.Y
		}
		top, tall := r.Y, r.Height
		if lane.Planned != nil {
			x, width := v.across(lane.Planned.From, lane.Planned.To)
			r.Planned = &bar{X: x, Width: max(1, width), Y: top, Height: tall * planShare, Text: lane.Planned.Text}
			top, tall = top+tall*planShare, tall*(1-planShare)
			v.Plans = true
		}
		for _, span := range lane.Spans {
			if x, width := v.across(span.From, span.To); width > 0 {
				r.Bars = append(r.Bars, bar{span.Place, x, width, top, tall, span.Text})
			}
		}
		v.Rows = append(v.Rows, r)
	}
	v.Source, v.Destination = fitting(v.Source, sourceRoom), fitting(v.Destination, targetRoom)
	if v.Plans {
		v.Source = fitting(v.Source, sourceRoomShort)
	}
}

// fitting shortens a text in its middle, so that it fits into a width.
func fitting(text string, width float64) string {
	letters, most := []rune(text), int(width/letter)
	if len(letters) <= most {
		return text
	}
	return string(letters[:most/2]) + "…" + string(letters[len(letters)-(most-most/2-1):])
}

// label returns the label, with a sign if the lane is marked.
func (l Lane) label() string {
	if l.Mark == "" {
		return l.Label
	}
	return "! " + l.Label
}

// left returns where the lanes begin, so that their labels fit.
func (c Chart) left() float64 {
	left := leftEdge
	for _, lane := range c.Lanes {
		left = max(left, letter*float64(utf8.RuneCountInString(lane.label()))+2*rightEdge)
	}
	return min(left, mostLeft)
}

// across returns the position and width of a time span on the axis; anything outside is cut off.
func (v *view) across(from, to time.Time) (x, width float64) {
	begin, end := v.at(from), v.at(to)
	return begin, max(0, end-begin)
}

func (v *view) at(t time.Time) float64 {
	part := float64(t.Sub(v.Begin)) / float64(v.End.Sub(v.Begin))
	return v.Left + (v.Right-v.Left)*min(1, max(0, part))
}

// height returns the position of a number of available replicas.
func (v *view) height(n int32) float64 {
	return v.LevelsBottom - levels*float64(min(n, v.Replicas))/float64(max(1, v.Replicas))
}

func (v *view) curve() {
	v.BudgetLine = v.height(v.Replicas - v.Budget)
	v.BudgetText = fmt.Sprintf("%d: what the budget asks for", v.Replicas-v.Budget)
	v.Most = strconv.Itoa(int(v.Replicas))
	for i, level := range v.Available {
		until := v.End
		if i+1 < len(v.Available) {
			until = v.Available[i+1].From
		}
		command := "L"
		if i == 0 {
			command = "M"
		}
		y := v.height(level.Value)
		v.Curve += fmt.Sprintf("%s%.1f %.1fL%.1f %.1f", command, v.at(level.From), y, v.at(until), y)
	}
}

// steps are the intervals at which the axis may have ticks.
var steps = []time.Duration{
	time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, 30 * time.Second,
	time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 30 * time.Minute,
	time.Hour, 2 * time.Hour, 6 * time.Hour, 12 * time.Hour, 24 * time.Hour,
}

// ticks places ticks at round times, at most mostTicks of them.
func (v *view) ticks() {
	length := v.End.Sub(v.Begin)
	step := steps[len(steps)-1]
	for length/step > mostTicks {
		step *= 2
	}
	for _, each := range steps {
		if length/each <= mostTicks {
			step = each
			break
		}
	}
	first := v.Begin.Truncate(step)
	if v.Relative {
		first = v.Begin
	}
	for t := first; !t.After(v.End); t = t.Add(step) {
		if t.Before(v.Begin) {
			continue
		}
		x := v.at(t)
		v.Ticks = append(v.Ticks, tick{x, v.label(t, step), x > v.Right-tickRoom})
	}
	v.AxisText = "UTC, from " + v.Begin.UTC().Format(time.DateTime)
	if v.Relative {
		v.AxisText = "from the beginning"
	}
}

func (v *view) label(t time.Time, step time.Duration) string {
	switch {
	case v.Relative:
		return "+" + t.Sub(v.Begin).Round(time.Second).String()
	case step >= 24*time.Hour:
		return t.UTC().Format(time.DateOnly)
	case step >= time.Minute:
		return t.UTC().Format("15:04")
	default:
		return t.UTC().Format(time.TimeOnly)
	}
}
