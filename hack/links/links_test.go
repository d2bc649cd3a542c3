package main

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

// TestProblems: each kind of dead link is found, and no others.
func TestProblems(t *testing.T) {
	for name, tc := range map[string]struct {
		files map[string]string
		want  []string
	}{
		"a sound site": {
			files: map[string]string{
				"index.html": `<link href="style.css" rel="stylesheet"><a href="#top" id="top">t</a><a href="a.html#one">a</a><a href="docs/">d</a>
					<a href="https://example.com/x#y">e</a><a href="mailto:a@example.com">m</a><img src="data:,">`,
				"a.html": `<h2 id="one">1</h2><a href="./index.html">i</a><img src="x.svg">`, "docs/index.html": `<a href="../a.html">a</a>`,
				"style.css": `a { background: url(x.svg) }`, "x.svg": "",
			},
		},
		"no such file":               {map[string]string{"index.html": `<a href="b.html">b</a>`}, []string{`index.html: the link "b.html" leads to a file that is not there`}},
		"no such place":              {map[string]string{"index.html": `<a href="#x">x</a>`}, []string{`index.html: the link "#x" leads to a place that the page does not have`}},
		"no such place on its page":  {map[string]string{"index.html": `<a href="a.html#x">x</a>`, "a.html": ``}, []string{`index.html: the link "a.html#x" leads to a place that the page does not have`}},
		"a place of what is no page": {map[string]string{"index.html": `<a href="a.svg#x">x</a>`, "a.svg": ``}, []string{`index.html: the link "a.svg#x" leads to a place that the page does not have`}},
		"http":                       {map[string]string{"index.html": `<a href="http://example.com">x</a>`}, []string{`index.html: the link "http://example.com" leads to another machine, and not by https`}},
		"no machine":                 {map[string]string{"index.html": `<a href="https:///x">x</a>`}, []string{`index.html: the link "https:///x" leads to another machine, and not by https`}},
		"whatever the scheme is":     {map[string]string{"index.html": `<a href="//example.com/x">x</a>`}, []string{`index.html: the link "//example.com/x" leads to another machine, and not by https`}},
		"not an address":             {map[string]string{"index.html": `<a href="%zz">x</a>`}, []string{`index.html: the link "%zz" is not an address`}},
		"a script from elsewhere":    {map[string]string{"index.html": `<script src="https://example.com/x.js"></script>`}, []string{`index.html: it loads "https://example.com/x.js", which is on another machine`}},
		"an image that is not there": {map[string]string{"index.html": `<img src="x.svg">`}, []string{`index.html: it loads "x.svg", which is not there`}},
		"a font from elsewhere":      {map[string]string{"index.html": ``, "style.css": `@font-face { src: url("https://example.com/f") }`}, []string{`style.css: it loads "url(\"https://example.com/f\"": style sheets load nothing`}},
		"a place twice":              {map[string]string{"index.html": `<p id="a"></p><p id="a"></p>`}, []string{`index.html: it has the place "a" 2 times: a link to it leads to the first`}},
		"a word that is lost":        {map[string]string{"index.html": `<p>sliceshift-<name></p>`}, []string{`index.html: <name> is taken for a tag, and readers do not see it: write &lt;name>, or put it into backquotes`}},
		"a page on its own":          {map[string]string{"index.html": ``, "a.html": `<a href="index.html">i</a>`}, []string{`a.html: no way leads to it from index.html`}},
	} {
		t.Run(name, func(t *testing.T) {
			folder := fstest.MapFS{}
			for file, text := range tc.files {
				folder[file] = &fstest.MapFile{Data: []byte(text)}
			}
			s, err := read(folder)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, s.problems()); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}

// TestRun: problems are reported, and a folder without a site is an error.
func TestRun(t *testing.T) {
	var out strings.Builder
	if err := run(t.TempDir(), &out); err == nil || !strings.Contains(err.Error(), "index.html") {
		t.Errorf("an empty folder: %v", err)
	}
}
