// Command links reads a built site and fails on dead links: to a missing file, to a missing anchor, or to another
// machine without https. It uses no network. It also reports resources that a page would load from elsewhere, duplicate
// anchors, words that a browser takes for a tag, and pages without a link to them.
package main

import (
	"fmt"
	"io"
	"os"
)

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
