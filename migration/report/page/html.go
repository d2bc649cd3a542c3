package page

import (
	"bytes"
	_ "embed"
	"html/template"

	"github.com/sliceshift/sliceshift/migration/report/chart"
)

//go:embed page.html.tmpl
var source string

var document = template.Must(template.New("page").Parse(source))

// HTML returns the document as one file that loads nothing. All text of the page is escaped.
func HTML(p Page) ([]byte, error) {
	shown := struct {
		Page
		Image template.HTML
	}{Page: p}
	if p.Chart != nil {
		image, err := chart.SVG(*p.Chart)
		if err != nil {
			return nil, err
		}
		shown.Image = image
	}
	var b bytes.Buffer
	if err := document.Execute(&b, shown); err != nil {
		return nil, err
	}
	return []byte(chart.Printable(b.String())), nil
}
