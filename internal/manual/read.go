package manual

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Command is a command that a page shows.
type Command struct {
	// Page is the name of its file, Line where it begins.
	Page string
	Line int
	// Text is what a shell gets.
	Text string
}

// String is a command in one line, behind its place.
func (c Command) String() string { return fmt.Sprintf("%s:%d: %s", c.Page, c.Line, c.flat()) }

// flat is a command in one line.
func (c Command) flat() string { return strings.Join(strings.Fields(c.Text), " ") }

var (
	// fence is a block of commands.
	fence = regexp.MustCompile("(?ms)^ *```(\\w*)\n(.*?)^ *```")
	// quoted is what stands between backquotes in a line of prose, or over the end of one.
	quoted = regexp.MustCompile("`((?:kubectl|helm|skopeo|docker|git|make)\\s[^`]+)`")
	// option is a flag. A command of prose that has none is a mention of one.
	option = regexp.MustCompile(`(^|\s)--?[a-zA-Z]`)
	// leftOut stands for a part of a command that a reader knows.
	leftOut = regexp.MustCompile(`\.\.\.|<TAB>|\s-[kf]$`)
	// variable is set in a line, for the lines behind it.
	variable = regexp.MustCompile(`(?m)^\w+=`)
	// remark is a comment behind a command, and document begins one that is given to the command.
	remark   = regexp.MustCompile(`(?m)(^|\s)#.*$`)
	document = regexp.MustCompile(`<<'?(\w+)'?`)
)

// generated are the pages of text that no reader types: messages are filled in when they are said.
var generated = []string{"messages.md"}

// Pages are the pages of the documentation of the repository that lies there, with the README.
func Pages(root string) ([]string, error) {
	pages, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	pages = slices.DeleteFunc(pages, func(page string) bool { return slices.Contains(generated, filepath.Base(page)) })
	return append(pages, filepath.Join(root, "README.md")), err
}

// Read finds the commands of a page, in their order.
func Read(page string) ([]Command, error) {
	text, err := os.ReadFile(page)
	if err != nil {
		return nil, err
	}
	name := filepath.Base(page)
	return slices.SortedStableFunc(slices.Values(append(inBlocks(name, string(text)), inProse(name, string(text))...)),
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

// apart takes a block apart. One that sets a variable stays whole: its lines need each other.
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

// strip takes the remarks away, which a document has none of.
func strip(command string) string {
	if document.MatchString(command) {
		return command
	}
	return remark.ReplaceAllString(command, "")
}

// whole says whether nothing is to follow: no line that goes on, no quotes that are open, no document.
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
