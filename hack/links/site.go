package main

import (
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
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
