package chart

import (
	"bytes"
	_ "embed"
	"html/template"
	"strings"
	"unicode"
)

//go:embed chart.svg.tmpl
var source string

var image = template.Must(template.New("chart").Parse(source))

// SVG returns the image as a complete XML document. All text of the chart is escaped.
func SVG(c Chart) (template.HTML, error) {
	var b bytes.Buffer
	if err := image.Execute(&b, layout(c)); err != nil {
		return "", err
	}
	return template.HTML(Printable(b.String())), nil //nolint:gosec // html/template has escaped what it was made of
}

// Printable replaces each character that cannot be printed, that XML does not allow, or that changes the
// reading direction.
func Printable(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r), r == '\ufffe', r == '\uffff':
			return unicode.ReplacementChar
		default:
			return r
		}
	}, strings.ToValidUTF8(text, string(unicode.ReplacementChar)))
}

// Tall returns the height between the axes.
func (v view) Tall() float64 { return v.LevelsBottom - v.LanesTop }

// IsTall reports whether the times are above the lanes, too, because those below would be out of sight.
func (v view) IsTall() bool { return v.Replicas == 0 && len(v.Stops) == 0 && v.Tall() > tallPicture }

// StopsAt returns the position of the numbers of stops.
func (v view) StopsAt() float64 { return v.LanesTop - 6 }

// TicksAt returns the position of the times.
func (v view) TicksAt() float64 { return v.LevelsBottom + 18 }

// AxisAt returns the position of the text that names the origin of the times.
func (v view) AxisAt() float64 { return v.LevelsBottom + 36 }

// LevelsMiddle returns the position of the number of replicas.
func (v view) LevelsMiddle() float64 { return v.LevelsTop + 16 }

// BudgetTextAt returns the position of the budget's text.
func (v view) BudgetTextAt() float64 { return v.BudgetLine + 13 }
