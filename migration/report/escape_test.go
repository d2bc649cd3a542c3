package report_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/html"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/report"
	"github.com/sliceshift/sliceshift/migration/report/chart"
	"github.com/sliceshift/sliceshift/migration/report/page"
)

// pieces are parts of hostile text that could be interpreted as markup.
var pieces = []string{
	"<script>alert(1)</script>", "<img src=x onerror=alert(1)>", `" onload="x`, "' x='", "</title>", "</style>", "</svg>", "</td>", "<!--", "-->", "]]>", "<![CDATA[",
	"javascript:alert(1)", "{{.}}", "`", "${x}", "&lt;", "&", "<", ">", "\x00", "\x1b[31m", "\u202e", "\ufeff", "\ufffe", "\xff", "\n", "\r", "|", "\\", "](http://x)", "é", "a",
}

func hostile(t *rapid.T, name string) string {
	return strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 1, 4).Draw(t, name), "")
}

// told returns a migration in which say provides each text that comes from a cluster.
func told(say func(name string) string) (*api.Migration, report.Place, []report.Entry) {
	m := moved()
	m.Namespace, m.Name = say("namespace"), say("name")
	m.Spec.Source.Namespace, m.Spec.Source.Name = say("source namespace"), say("source")
	m.Spec.Destination = api.DestinationReference{Namespace: say("destination namespace"), Name: say("destination")}
	w := &m.Status.Warnings[0]
	w.Check, w.Reason, w.Object, w.Message, w.Remedy = say("check"), say("reason"), say("object"), say("message"), say("remedy")
	h := m.Status.History
	h.Drivers[0].Holder = say("holder")
	h.Stops[0].Reason, h.Stops[0].Message = say("stop"), say("stop message")
	m.Status.Conditions = append(m.Status.Conditions, metav1.Condition{Type: say("type"), Status: metav1.ConditionStatus(say("status")), Reason: say("why"), Message: say("condition")})
	m.Spec.Mode = api.Mode(say("mode"))
	entry := report.Entry{Time: at(10).Time, Kind: "Written", Side: "source", Object: say("written"), Message: say("what was written")}
	return m, report.Place{Cluster: say("cluster"), Record: say("record"), Destination: say("other cluster")}, []report.Entry{entry}
}

// shape returns a document without its text: its tags with the names of their attributes, and the values of
// attributes that could be harmful.
func shape(t *rapid.T, document []byte) []string {
	var tags []string
	tokens := html.NewTokenizer(bytes.NewReader(document))
	for {
		switch kind := tokens.Next(); kind {
		case html.ErrorToken:
			if !errors.Is(tokens.Err(), io.EOF) {
				t.Fatal(tokens.Err())
			}
			return tags
		case html.TextToken:
		default:
			token := tokens.Token()
			words := []string{kind.String(), token.Data}
			for _, a := range token.Attr {
				words = append(words, a.Key)
			}
			text := strings.Join(words, " ")
			if kind == html.CommentToken || slices.Contains([]string{"script", "img", "a", "iframe", "link"}, token.Data) {
				t.Fatalf("the document has a %s", text)
			}
			tags = append(tags, text)
		}
	}
}

// TestNothingIsUnescaped: for any text from a cluster, the document has the same tags and attributes, is
// well-formed, and loads nothing.
func TestNothingIsUnescaped(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		render := func(say func(string) string) ([]byte, string, []byte) {
			m, where, entries := told(say)
			r := report.Of(m, where, at(3600).Time).WithLog(entries)
			document, err := page.HTML(r.Page())
			if err != nil {
				t.Fatal(err)
			}
			image, err := chart.SVG(r.Chart())
			if err != nil {
				t.Fatal(err)
			}
			return document, string(image), page.Markdown(r.Page())
		}
		plain, _, calm := render(func(string) string { return "a" })
		document, image, text := render(func(name string) string { return hostile(t, name) })
		if diff := cmp.Diff(shape(t, plain), shape(t, document)); diff != "" {
			t.Fatalf("the document has other tags:\n%s", diff)
		}
		for decoder := xml.NewDecoder(strings.NewReader(image)); ; {
			if _, err := decoder.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("the image is not well-formed: %v", err)
			}
		}
		if a, b := bytes.Count(calm, []byte("\n")), bytes.Count(text, []byte("\n")); a != b {
			t.Fatalf("the text has %d lines, not %d", b, a)
		}
		for _, bad := range []string{"<script", "<img", "\x1b", "\u202e", "](http"} {
			if strings.Contains(strings.ReplaceAll(string(text), `\<`, ""), bad) {
				t.Fatalf("the text has %q:\n%s", bad, text)
			}
		}
	})
}

// TestPrintable: its result is safe without a further check.
func TestPrintable(t *testing.T) {
	if got := chart.Printable("a\x00\u202eb\n\tc\xff"); got != "a\ufffd\ufffdb\n\tc\ufffd" {
		t.Errorf("got %q", got)
	}
}
