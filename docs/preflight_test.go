package docs

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/sliceshift/sliceshift/migration/preflight"
)

// TestPreflight: preflight.md describes for every check its subject, the risk of its findings, and the remedy. With
// -update it writes the page.
func TestPreflight(t *testing.T) {
	page := preflightPage(t)
	if *update {
		if err := os.WriteFile("preflight.md", []byte(page), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if page != read(t, "preflight.md") {
		t.Error("preflight.md is not what the catalogue says: run make generate")
	}
	headings := anchors(t, "preflight.md")
	for _, check := range preflight.Catalogue() {
		if _, anchor, _ := strings.Cut(check.Docs(), "#"); !slices.Contains(headings, anchor) {
			t.Errorf("check %q leads to %s, and there is no such heading", check.Name, check.Docs())
		}
	}
}

const preflightIntro = `# Before a move

The checks of a move before its first write. ` + "`kubectl migrate preflight`" + `, ` + "`plan`, `run`" + ` and the manager do the same checks. Each passes, warns or
fails. A failed check refuses the move: nothing has been changed, and the check is repeated when something changes, at the latest
after 5 seconds, and up to 30 the longer it fails. Warnings stay in ` + "`status.warnings`" + ` of the Migration.

` + "```sh" + `
kubectl migrate preflight web -n shop --context east --to-context west    # what was found; -v: each check, by group
kubectl migrate preflight -f migration.yaml --context east --to-context west -o json | jq '.groups[].checks[] | select(.verdict != "pass")'
` + "```" + `

The first line does them for a StatefulSet; ` + "`-v`" + ` also shows the checks that passed. The second takes a Migration that does not exist yet, and prints
only failures and warnings. Exit code 3: the move would be refused.

A check that lacks a right to read warns, and names the right; it fails only if the move needs that right too. The
[pages of the reasons](stalls.md#all-reasons) and ` + "`kubectl migrate explain REASON`" + ` explain each. The code writes this page (` + "`make generate`" + `).
`

func preflightPage(t *testing.T) string {
	t.Helper()
	var page strings.Builder
	page.WriteString(preflightIntro)
	var group preflight.Group
	for _, check := range preflight.Catalogue() {
		if check.Looks == "" || check.Why == "" || check.Remedy == "" {
			t.Errorf("check %q does not say what it looks at, why, and how to fix it", check.Name)
		}
		if check.Group != group {
			group = check.Group
			fmt.Fprintf(&page, "\n## %s\n", strings.ToUpper(string(group[:1]))+string(group[1:]))
		}
		fmt.Fprintf(&page, "\n### %s\n\nLooks %s\n\n%s\n\n**Fix:** %s\n", check.Name, check.Looks, check.Why, check.Remedy)
	}
	return page.String()
}
