// Command links reads a built site and fails on dead links: to a missing file, to a missing anchor, or to another
// machine without https. It uses no network. It also reports resources that a page would load from elsewhere, duplicate
// anchors, words that a browser takes for a tag, and pages without a link to them.
package main

import (
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/net/html"
)

// first is the start page.
const first = "index.html"

// site is a built site: its pages, its style sheets, and the names of all its files.
type site struct {
	pages  map[string]page
	styles map[string]string
	files  map[string]bool
}

// read reads a built site.
func read(folder fs.FS) (site, error) {
	s := site{pages: map[string]page{}, styles: map[string]string{}, files: map[string]bool{}}
	err := fs.WalkDir(folder, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		s.files[name] = true
		switch path.Ext(name) {
		case ".html":
			return s.readPage(folder, name)
		case ".css":
			text, err := fs.ReadFile(folder, name)
			s.styles[name] = string(text)
			return err
		}
		return nil
	})
	if err == nil && !s.files[first] {
		err = fmt.Errorf("it has no %s", first)
	}
	return s, err
}

func (s site) readPage(folder fs.FS, name string) error {
	file, err := folder.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	if s.pages[name], err = parse(file); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// links returns the number of links.
func (s site) links() (count int) {
	for _, p := range s.pages {
		count += len(p.links)
	}
	return count
}

// problems returns the problems of the site, in the order of its pages.
func (s site) problems() (all []string) {
	for _, name := range slices.Sorted(maps.Keys(s.pages)) {
		p := s.pages[name]
		for _, place := range slices.Sorted(maps.Keys(p.places)) {
			if p.places[place] > 1 {
				all = append(all, fmt.Sprintf("%s: it has the place %q %d times: a link to it leads to the first", name, place, p.places[place]))
			}
		}
		for _, element := range p.unknown {
			all = append(all, fmt.Sprintf("%s: <%s> is taken for a tag, and readers do not see it: write &lt;%s>, or put it into backquotes", name, element, element))
		}
		for _, to := range p.links {
			if wrong := s.wrong(name, to); wrong != "" {
				all = append(all, fmt.Sprintf("%s: the link %q %s", name, to, wrong))
			}
		}
		for _, what := range p.loads {
			if wrong := s.wrongLoad(name, what); wrong != "" {
				all = append(all, fmt.Sprintf("%s: it loads %q, %s", name, what, wrong))
			}
		}
	}
	return append(append(all, s.foreignStyles()...), s.unreached()...)
}

// wrong returns the problem of a link of a page, or an empty string.
func (s site) wrong(from, to string) string {
	u, err := url.Parse(to)
	switch {
	case err != nil:
		return "is not an address"
	case u.Scheme == "mailto":
		return ""
	case u.IsAbs() || u.Host != "":
		if u.Scheme != "https" || u.Host == "" {
			return "leads to another machine, and not by https"
		}
		return ""
	}
	name := inside(from, u)
	if !s.files[name] {
		return "leads to a file that is not there"
	}
	if p, is := s.pages[name]; u.Fragment != "" && (!is || p.places[u.Fragment] == 0) {
		return "leads to a place that the page does not have"
	}
	return ""
}

// wrongLoad returns the problem of a resource that a page loads, or an empty string.
func (s site) wrongLoad(from, what string) string {
	u, err := url.Parse(what)
	switch {
	case err != nil:
		return "which is not an address"
	case u.Scheme == "data":
		return ""
	case u.IsAbs() || u.Host != "":
		return "which is on another machine"
	case !s.files[inside(from, u)]:
		return "which is not there"
	}
	return ""
}

// inside returns the file that a relative address of a page names.
func inside(from string, u *url.URL) string {
	switch {
	case u.Path == "":
		return from
	case strings.HasSuffix(u.Path, "/"):
		return path.Join(path.Dir(from), u.Path, first)
	}
	return path.Join(path.Dir(from), u.Path)
}

// foreign matches resources that a style sheet would fetch.
var foreign = regexp.MustCompile(`@import|url\(\s*["']?(https?:)?//[^)]*`)

func (s site) foreignStyles() (all []string) {
	for _, name := range slices.Sorted(maps.Keys(s.styles)) {
		for _, found := range foreign.FindAllString(s.styles[name], -1) {
			all = append(all, fmt.Sprintf("%s: it loads %q: style sheets load nothing", name, found))
		}
	}
	return all
}

// unreached returns the pages that cannot be reached by links from the start page.
func (s site) unreached() (all []string) {
	seen, next := map[string]bool{first: true}, []string{first}
	for len(next) > 0 {
		from := next[0]
		next = next[1:]
		for _, to := range s.pages[from].links {
			u, err := url.Parse(to)
			if err != nil || u.IsAbs() || u.Host != "" {
				continue
			}
			if name := inside(from, u); !seen[name] {
				seen[name] = true
				next = append(next, name)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.pages)) {
		if !seen[name] {
			all = append(all, name+": no way leads to it from "+first)
		}
	}
	return all
}

// page is the content of one HTML file.
type page struct {
	// links holds the targets of links, and loads the resources that a browser fetches for the page.
	links, loads []string
	// places maps anchors to how often each is defined.
	places map[string]int
	// unknown lists unknown elements: <name> in a text that was not escaped.
	unknown []string
}

// loading maps elements that make a browser fetch something to the attribute with the address.
var loading = map[string]string{"img": "src", "script": "src", "link": "href", "iframe": "src", "source": "src"}

// elements lists the known elements.
var elements = strings.Fields(`html head meta title link script style body header nav main footer form input div p a em strong del small code pre
	br hr ul ol li h1 h2 h3 h4 h5 h6 blockquote table thead tbody tr th td img`)

// parse parses a page.
func parse(from io.Reader) (page, error) {
	p := page{places: map[string]int{}}
	root, err := html.Parse(from)
	if err != nil {
		return p, fmt.Errorf("parse: %w", err)
	}
	for node := range root.Descendants() {
		if node.Type == html.ElementNode {
			p.element(node)
		}
	}
	return p, nil
}

func (p *page) element(node *html.Node) {
	if !slices.Contains(elements, node.Data) {
		p.unknown = append(p.unknown, node.Data)
	}
	for _, a := range node.Attr {
		switch {
		case a.Key == "id":
			p.places[a.Val]++
		case node.Data == "a" && a.Key == "href":
			p.links = append(p.links, a.Val)
		case loading[node.Data] == a.Key:
			p.loads = append(p.loads, a.Val)
		}
	}
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: links FOLDER")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "links:", err)
		os.Exit(1)
	}
}

// run reports the problems of the site in a folder.
func run(folder string, out io.Writer) error {
	s, err := read(os.DirFS(folder))
	if err != nil {
		return fmt.Errorf("read the site in %s: %w", folder, err)
	}
	problems := s.problems()
	for _, p := range problems {
		if _, err := fmt.Fprintln(out, p); err != nil {
			return err
		}
	}
	if len(problems) > 0 {
		return fmt.Errorf("%d problems in %s; links are written in docs/, and made to those of the site by site/layouts/_markup", len(problems), folder)
	}
	_, err = fmt.Fprintf(out, "%d pages, %d links: each leads somewhere\n", len(s.pages), s.links())
	return err
}
