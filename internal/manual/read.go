package manual

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Command is a command in a page.
type Command struct {
	// Page is the path of the page in the repository. Line is the first line of the command.
	Page string
	Line int
	// Text is the text that the shell runs.
	Text string
}

// String returns the location and the command in one line.
func (c Command) String() string { return fmt.Sprintf("%s:%d: %s", c.Page, c.Line, c.flat()) }

// flat returns the command in one line.
func (c Command) flat() string { return strings.Join(strings.Fields(c.Text), " ") }

var (
	// fence matches a code block.
	fence = regexp.MustCompile("(?ms)^ *```(\\w*)\n(.*?)^ *```")
	// quoted matches a command in backquotes in prose, also across lines.
	quoted = regexp.MustCompile("`((?:kubectl|helm|skopeo|docker|git|make)\\s[^`]+)`")
	// option matches a flag. A command in prose without flags is only a mention.
	option = regexp.MustCompile(`(^|\s)--?[a-zA-Z]`)
	// leftOut matches a placeholder for a part of a command.
	leftOut = regexp.MustCompile(`\.\.\.|<TAB>|\s-[kf]$`)
	// variable matches an assignment, which later lines of the block use.
	variable = regexp.MustCompile(`(?m)^\w+=`)
	// remark matches a comment after a command. document matches the start of a here-document.
	remark   = regexp.MustCompile(`(?m)(^|\s)#.*$`)
	document = regexp.MustCompile(`<<'?(\w+)'?`)
)

// Pages returns the pages of the documentation in the repository at root, with the README last. Their paths are relative
// to root.
func Pages(root string) ([]string, error) {
	var pages []string
	for _, pattern := range []string{"docs/*.md", "docs/*/*.md", "README.md"} {
		found, err := fs.Glob(os.DirFS(root), pattern)
		if err != nil {
			return nil, err
		}
		pages = append(pages, found...)
	}
	return pages, nil
}

// Read returns the commands of a page in the repository at root, in order.
func Read(root, page string) ([]Command, error) {
	text, err := os.ReadFile(filepath.Join(root, page))
	if err != nil {
		return nil, err
	}
	return slices.SortedStableFunc(slices.Values(append(inBlocks(page, string(text)), inProse(page, string(text))...)),
		func(a, b Command) int { return a.Line - b.Line }), nil
}

func inBlocks(page, text string) []Command {
	var found []Command
	for _, at := range fence.FindAllStringSubmatchIndex(text, -1) {
		if text[at[2]:at[3]] != "sh" {
			continue
		}
		line := strings.Count(text[:at[4]], "\n") + 1
		found = append(found, apart(page, line, text[at[4]:at[5]])...)
	}
	return found
}

// apart splits a block into commands. A block that sets a variable stays whole, because its lines depend on each other.
func apart(page string, line int, block string) []Command {
	if variable.MatchString(block) {
		return []Command{{page, line, strings.TrimSpace(block)}}
	}
	var found []Command
	var command strings.Builder
	begin := line
	for each := range strings.Lines(block) {
		if command.Len() == 0 {
			begin = line
		}
		line++
		command.WriteString(each)
		if !whole(command.String()) {
			continue
		}
		if bare := strings.TrimSpace(strip(command.String())); bare != "" {
			found = append(found, Command{page, begin, bare})
		}
		command.Reset()
	}
	return found
}

// strip removes comments. A command with a here-document has none.
func strip(command string) string {
	if document.MatchString(command) {
		return command
	}
	return remark.ReplaceAllString(command, "")
}

// whole reports whether a command is complete: no continuation line, open quotes or open here-document.
func whole(command string) bool {
	if begins := document.FindStringSubmatch(command); begins != nil {
		return strings.HasSuffix(strings.TrimSpace(command), "\n"+begins[1])
	}
	bare := strings.TrimSpace(strip(command))
	return !strings.HasSuffix(bare, "\\") && strings.Count(bare, "'")%2 == 0 && strings.Count(bare, `"`)%2 == 0
}

func inProse(page, text string) []Command {
	prose := fence.ReplaceAllStringFunc(text, func(block string) string { return strings.Repeat("\n", strings.Count(block, "\n")) })
	var found []Command
	for _, at := range quoted.FindAllStringSubmatchIndex(prose, -1) {
		command := strings.Join(strings.Fields(prose[at[2]:at[3]]), " ")
		if !option.MatchString(command) || leftOut.MatchString(command) {
			continue
		}
		found = append(found, Command{page, strings.Count(prose[:at[2]], "\n") + 1, strings.ReplaceAll(command, `\|`, "|")})
	}
	return found
}
