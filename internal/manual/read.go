package manual

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Command is a command in a page.
type Command struct {
	// Page is the file name. Line is the first line of the command.
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

// generated lists the pages whose commands no reader types, because messages are filled in at run time.
var generated = []string{"messages.md"}

// Pages returns the pages of the documentation in the repository at root, with the README.
func Pages(root string) ([]string, error) {
	var pages []string
	for _, folder := range []string{"docs", "docs/engineering"} {
		found, err := filepath.Glob(filepath.Join(root, folder, "*.md"))
		if err != nil {
			return nil, err
		}
		pages = append(pages, found...)
	}
	pages = slices.DeleteFunc(pages, func(page string) bool { return slices.Contains(generated, filepath.Base(page)) })
	return append(pages, filepath.Join(root, "README.md")), nil
}

// Read returns the commands of a page, in order.
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
