package docs

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sliceshift/sliceshift/config"
	"github.com/sliceshift/sliceshift/migration/recipes"
)

// TestRecipes: recipes.md lists every recipe, and each has a page that repeats what it says. With -update it writes the pages.
func TestRecipes(t *testing.T) {
	files, err := config.Recipes()
	if err != nil {
		t.Fatal(err)
	}
	all, err := recipes.All(files)
	if err != nil {
		t.Fatal(err)
	}
	expectPage(t, "recipes.md", recipesPage(all))
	targets := read(t, "../Makefile")
	for _, r := range all {
		expectPage(t, recipePageOf(r), recipePage(r))
		if target, found := strings.CutPrefix(r.Trial.By, "make "); r.Trial.Status == recipes.Tried && (!found || !strings.Contains(targets, "\n"+target+":")) {
			t.Errorf("recipe %s was tried by %q, which is no target of the Makefile", r.Name, r.Trial.By)
		}
	}
	pages, err := filepath.Glob("recipe-*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range pages {
		if !slices.ContainsFunc(all, func(r recipes.Recipe) bool { return recipePageOf(r) == page }) {
			t.Errorf("there is no recipe for %s", page)
		}
	}
}

// recipePageOf is the file of a recipe's page.
func recipePageOf(r recipes.Recipe) string { return "recipe-" + r.Name + ".md" }

const recipesIntro = `# Recipes

A move considers a replica healthy when its pod is Ready. A recipe adds the checks that a system needs: before a member is stopped and after it has
started, the order of the members, and the names that they need. Flags of yours override it.

` + "```sh" + `
kubectl migrate recipes                       # what there is
kubectl migrate recipes show postgresql       # all that one says
kubectl migrate plan etcd -n shop --context east --to-context west --recipe etcd
kubectl migrate run db -n shop --context east --to-context west --recipe postgresql \
  --recipe-set image=registry.example/postgres:18 --recipe-set standbys=2
kubectl migrate create etcd -n shop --destination-secret west --service-account mover \
  --recipe etcd --dry-run=client -o yaml      # what becomes of it
` + "```" + `

- **Read the page of your system first.** Some requirements, such as names and shutdown signals, no check can find.
- **Tried** means that the recipe has moved the system between two clusters under load, and that no acknowledged write was lost. The other recipes follow
  their sources: rehearse them.
- **Rights:** gates that ask pods need ` + "`sliceshift-mover-gates`" + `, those that run Jobs ` + "`sliceshift-mover-jobs`" + `, in both namespaces
  ([config/rbac/mover_role.yaml](../config/rbac/mover_role.yaml)).
- **Names:** ` + "`--export-ordinals`" + ` gives each ordinal [a name that it keeps](names.md), and needs Multi-Cluster Services in
  both clusters. Set ` + "`--export-ordinals=false`" + ` where your names already lead to both sides.
- **Drain in the preStop hook.** In a gate it would make the pod unready, and the move stops nothing while a replica is not Ready.
- **Your own:** ` + "`kubectl migrate recipes show NAME -o yaml > ours.yaml`" + `, change it, and use ` + "`--recipe ./ours.yaml`" + `. A gate of ` + "`--gates`" + ` replaces the
  recipe's gate of the same name.

`

func recipesPage(all []recipes.Recipe) string {
	var page strings.Builder
	page.WriteString(recipesIntro)
	page.WriteString("| recipe | system | tried |\n|---|---|---|\n")
	for _, r := range all {
		tried := "no"
		if r.Trial.Status == recipes.Tried {
			tried = r.Trial.Versions
		}
		fmt.Fprintf(&page, "| [%s](%s) | %s | %s |\n", r.Name, recipePageOf(r), r.Title, tried)
	}
	return page.String()
}

// recipePage is the page of one recipe.
func recipePage(r recipes.Recipe) string {
	var page strings.Builder
	fmt.Fprintf(&page, "# %s\n\n%s\n\n", r.Title, r.Summary)
	use := []string{"--recipe", r.Name}
	for _, p := range r.Parameters {
		if p.Default == nil {
			use = append(use, "--recipe-set", p.Name+"="+p.Example)
		}
	}
	fmt.Fprintf(&page, "- **Use:** `%s` ([how](recipes.md))", strings.Join(use, " "))
	if len(r.Aliases) > 0 {
		fmt.Fprintf(&page, ". Also called %s", strings.Join(r.Aliases, ", "))
	}
	if r.Trial.Status == recipes.Tried {
		fmt.Fprintf(&page, ".\n- **Tried** with %s.\n", r.Trial.Versions)
	} else {
		page.WriteString(".\n- **Not tried:** rehearse it first.\n")
	}
	fmt.Fprintf(&page, "- **Sets** `%s`. %s\n", strings.Join(r.Settings.Words(), " "), sentence(r.Settings.Why))
	if stated := r.Rehearsal; stated != nil {
		fmt.Fprintf(&page, "- **[Rehearsal](rehearse.md): %s.** %s %s\n", stated.Verdict, sentence(stated.Why), cited(r, stated.Sources))
	}
	adviceList(&page, r, "Before the move", r.Needs)
	adviceList(&page, r, "Never", r.Never)
	page.WriteString("\n## Limits\n\n")
	for _, limit := range r.Limits {
		fmt.Fprintf(&page, "- %s\n", sentence(limit))
	}
	page.WriteString("\n## Gates and hooks\n\n| name | how | purpose |\n|---|---|---|\n")
	for _, g := range r.Gates {
		fmt.Fprintf(&page, "| `%s` | %s | %s %s |\n", g.Gate["name"], g.Asked(), cellOf(sentence(g.Why)), cited(r, g.Sources))
	}
	for _, h := range r.Hooks {
		fmt.Fprintf(&page, "| `%s` | %s | %s %s |\n", h.Hook["name"], h.Run(), cellOf(sentence(h.Why)), cited(r, h.Sources))
	}
	if len(r.Parameters) > 0 {
		page.WriteString("\n## Parameters\n\n| `--recipe-set` | is | default |\n|---|---|---|\n")
	}
	for _, p := range r.Parameters {
		is := "required"
		if p.Default != nil {
			is = p.Shown()
		}
		fmt.Fprintf(&page, "| `%s` | %s | %s |\n", p.Name, cellOf(p.Says), is)
	}
	return page.String()
}

func adviceList(page *strings.Builder, r recipes.Recipe, title string, all []recipes.Advice) {
	fmt.Fprintf(page, "\n## %s\n\n", title)
	for _, a := range all {
		fmt.Fprintf(page, "- **%s** %s %s\n", sentence(a.What), sentence(a.Why), cited(r, a.Sources))
	}
}

// sentence returns a text as a sentence of a page; characters that would start a tag are escaped.
func sentence(text string) string {
	text = strings.TrimSpace(strings.ReplaceAll(text, "<", "&lt;"))
	if !strings.HasSuffix(text, ".") {
		text += "."
	}
	return text
}

// cited returns links to sources, each with its number.
func cited(r recipes.Recipe, ids []string) string {
	var links []string
	for _, id := range ids {
		for i, s := range r.Sources {
			if s.ID == id {
				links = append(links, fmt.Sprintf("[[%d]](%s)", i+1, s.URL))
			}
		}
	}
	return strings.Join(links, " ")
}
