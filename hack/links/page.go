package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"golang.org/x/net/html"
)

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
