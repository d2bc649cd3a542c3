package docs

import (
	"fmt"
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// odd matches constructions at which a Kubernetes engineer stops: archaic, translated, or without a subject that acts.
var odd = regexp.MustCompile(strings.Join([]string{
	`\b(is|are|was|were|be|been) told\b`, `\btold of\b`, `\btells? (of|it|one|them)\b`, `\b[Ww]hoever\b`,
	`\b[Ww]ho (has|have|is|are|does|asks|drives|deletes|reads|writes|takes|holds|moves|knows|keeps|calls|else)\b`,
	`\banew\b`, `\bbesides\b`, `\b(amiss|therefore|thereby|henceforth|thereof|whereby|hitherto)\b`, `\bmend(s|ed|ing)?\b`, `\bbears?\b`,
	`\b(is|are|was|were) to (be|have|get|go|come|run|move|end|take|begin|start|wait|bear)\b`, `\blet(s)? go of\b`,
	`\b(is|are|was|were|be|been) made\b`, `\b(is|are|has) gone\b`, `\bit goes\b`, `\bgoes (on|away|with)\b`, `\b(comes?|came) to\b`,
	`\b(is|are) what\b`, `\b[Ww]hat (is|was|has|have|are|were|it|they|else|comes|follows|remains|must|can|may)\b`,
	`\bas (it|they|its|their) (is|are|was|were|has|have|had)\b`, `\bof both\b`, `\b(for want of|lest|shall)\b`, `\bfor ever\b`, `\bin mid-`,
	`\b(some|no|any)body\b`, `\bfor so long\b`, `\bso many\b`, `\bsays whether\b`, `\bby (itself|themselves)\b`, `\bbrought up\b`, `\bon its way\b`,
}, "|"))

// english counts the odd constructions of one kind of text.
type english struct {
	words, found int
	where        []string
}

func (e *english) read(path string, line int, text string) {
	e.words += len(strings.Fields(text))
	if found := odd.FindAllString(text, -1); len(found) > 0 {
		e.found += len(found)
		e.where = append(e.where, fmt.Sprintf("%s:%d: %q in: %s", path, line, found, text))
	}
}

// within fails a test if there are more odd constructions than allowed in a thousand words.
func (e *english) within(t *testing.T, most int) {
	t.Helper()
	if e.words == 0 {
		t.Fatal("nothing was read")
	}
	if e.found*1000 > most*e.words {
		t.Errorf("%d odd constructions in %d words, more than %d in a thousand:\n%s", e.found, e.words, most, strings.Join(e.where, "\n"))
	}
}

// TestPlainEnglish: comments, messages and pages are written in plain English.
func TestPlainEnglish(t *testing.T) {
	var comments, messages, pages english
	err := filepath.WalkDir("..", func(path string, entry fs.DirEntry, err error) error {
		name := entry.Name()
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (name == "testdata" || name == "out" || name == "bin" || strings.HasPrefix(name, ".") && name != ".."):
			return filepath.SkipDir
		case entry.IsDir() || strings.HasPrefix(name, "zz_generated"):
			return nil
		case strings.HasSuffix(name, ".go"):
			return source(path, &comments, &messages)
		case strings.HasSuffix(name, ".md"):
			return prose(path, &pages)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Run("comments", func(t *testing.T) { comments.within(t, 3) })
	t.Run("messages", func(t *testing.T) { messages.within(t, 0) })
	t.Run("pages", func(t *testing.T) { pages.within(t, 3) })
}

// source reads the comments of a Go file, and its strings of several words if it is no test.
func source(path string, comments, messages *english) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	set := token.NewFileSet()
	file := set.AddFile(path, set.Base(), len(text))
	var s scanner.Scanner
	s.Init(file, text, nil, scanner.ScanComments)
	for {
		at, kind, literal := s.Scan()
		switch {
		case kind == token.EOF:
			return nil
		case kind == token.COMMENT:
			comments.read(path, set.Position(at).Line, strings.TrimPrefix(literal, "//"))
		case kind == token.STRING && literal[0] == '"' && strings.Count(literal, " ") > 2 && !strings.HasSuffix(path, "_test.go"):
			messages.read(path, set.Position(at).Line, literal)
		}
	}
}

// prose reads a page line by line.
func prose(path string, pages *english) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	for i, line := range strings.Split(string(text), "\n") {
		pages.read(path, i+1, line)
	}
	return nil
}
