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

// SVG is the image, by itself a document of XML. What a chart says is text there, whatever it is.
func SVG(c Chart) (template.HTML, error) {
	var b bytes.Buffer
	if err := image.Execute(&b, layout(c)); err != nil {
		return "", err
	}
	return template.HTML(Printable(b.String())), nil //nolint:gosec // html/template has escaped what it was made of
}

// Printable has a mark for each character that cannot be printed, that XML does not allow, or that
// would have what follows it read in another order.
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

// Tall is how tall everything is between the axes.
func (v view) Tall() float64 { return v.LevelsBottom - v.LanesTop }

// StopsAt is where the numbers of stops are written.
func (v view) StopsAt() float64 { return v.LanesTop - 6 }

// TicksAt is where the times are written.
func (v view) TicksAt() float64 { return v.LevelsBottom + 18 }

// AxisAt is where it is written what the times count from.
func (v view) AxisAt() float64 { return v.LevelsBottom + 36 }

// LevelsMiddle is where the number of replicas is written.
func (v view) LevelsMiddle() float64 { return v.LevelsTop + 16 }

// BudgetTextAt is where the budget is written.
func (v view) BudgetTextAt() float64 { return v.BudgetLine + 13 }
