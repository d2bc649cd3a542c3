package docs

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/sliceshift/sliceshift/config"
	"github.com/sliceshift/sliceshift/migration/recipes"
)

// TestRecipes: recipes.md has the content of every recipe. With -update it writes the page.
func TestRecipes(t *testing.T) {
	files, err := config.Recipes()
	if err != nil {
		t.Fatal(err)
	}
	all, err := recipes.All(files)
	if err != nil {
		t.Fatal(err)
	}
	page := recipesPage(all)
	if *update {
		if err := os.WriteFile("recipes.md", []byte(page), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if page != read(t, "recipes.md") {
		t.Error("recipes.md is not what config/recipes says: run make generate")
	}
	targets := read(t, "../Makefile")
	headings := anchors(t, "recipes.md")
	for _, r := range all {
		if !slices.Contains(headings, r.Name) {
			t.Errorf("recipe %s has no heading", r.Name)
		}
		if target, found := strings.CutPrefix(r.Trial.By, "make "); r.Trial.Status == recipes.Tried && (!found || !strings.Contains(targets, "\n"+target+":")) {
			t.Errorf("recipe %s was tried by %q, which is no target of the Makefile", r.Name, r.Trial.By)
		}
	}
}

const recipesIntro = `# Recipes

A migration knows of an application that its pods are Ready. A recipe says the rest of a system that many run: what is asked before
a member is stopped and after it has come, in which order members go, by which names they must be known, and what must not be done
meanwhile. It is data in ` + "[config/recipes](../config/recipes)" + `, which the command line carries, and becomes a part of the Migration when that is
written. What you say yourself wins.

` + "```sh" + `
kubectl migrate recipes                       # what there is
kubectl migrate recipes show postgresql       # all that one says
kubectl migrate plan etcd -n shop --context east --to-context west --recipe etcd
kubectl migrate run db -n shop --context east --to-context west --recipe postgresql \
  --recipe-set image=registry.example/postgres:18 --recipe-set standbys=2
kubectl migrate create etcd -n shop --destination-secret west --service-account mover \
  --recipe etcd --dry-run=client -o yaml      # what becomes of it
` + "```" + `

- **Your own**: ` + "`kubectl migrate recipes show NAME -o yaml > ours.yaml`" + `, change it, and give it as ` + "`--recipe ./ours.yaml`" + `. A gate of ` + "`--gates`" + ` replaces the
  recipe's of the same name.
- **Rights**: gates that ask pods need the role ` + "`sliceshift-mover-gates`" + `, those that run Jobs ` + "`sliceshift-mover-jobs`" + `, in the namespaces of both sides
  ([config/rbac/mover_role.yaml](../config/rbac/mover_role.yaml)).
- **Names**: a recipe that names ` + "`--export-ordinals`" + ` below gives each ordinal [a name that it keeps](concepts.md#names-that-survive-the-move), and needs
  Multi-cluster Services in both clusters. ` + "`--export-ordinals=false`" + ` where your names lead to both sides already.
- **What makes a pod unready** (drain, maintenance mode) belongs into its preStop hook: in a gate it would hold the move, which stops nothing while
  a replica is not Ready.
- **Tried** means that the recipe has moved the system between two clusters with real kubelets while clients wrote, and that what they were told
  was stored was looked for afterwards. The others were written from the texts that they cite: rehearse them.

The page is generated from the data (` + "`make generate`" + `).
`

func recipesPage(all []recipes.Recipe) string {
	var page strings.Builder
	page.WriteString(recipesIntro)
	page.WriteString("\n| recipe | system | tried |\n|---|---|---|\n")
	for _, r := range all {
		tried := "no"
		if r.Trial.Status == recipes.Tried {
			tried = r.Trial.Versions + ", `" + r.Trial.By + "`"
		}
		fmt.Fprintf(&page, "| [%s](#%s) | %s | %s |\n", r.Name, r.Name, r.Title, tried)
	}
	for _, r := range all {
		recipeSection(&page, r)
	}
	return page.String()
}

func recipeSection(page *strings.Builder, r recipes.Recipe) {
	fmt.Fprintf(page, "\n## %s\n\n**%s.** %s", r.Name, r.Title, r.Summary)
	if len(r.Aliases) > 0 {
		fmt.Fprintf(page, " Also called %s.", strings.Join(r.Aliases, ", "))
	}
	if r.Trial.Status == recipes.Tried {
		fmt.Fprintf(page, "\n\n**Tried**: %s, with %s: `%s`.", r.Trial.What, r.Trial.Versions, r.Trial.By)
	} else {
		page.WriteString("\n\n**Not tried**: written from its sources.")
	}
	fmt.Fprintf(page, "\n\n**Settings**: `%s`. %s\n", strings.Join(r.Settings.Words(), " "), sentence(r.Settings.Why))
	if len(r.Parameters) > 0 {
		page.WriteString("\n| parameter | is | default |\n|---|---|---|\n")
		for _, p := range r.Parameters {
			is := "must be given, such as `" + p.Example + "`"
			if p.Default != nil {
				is = p.Shown()
			}
			fmt.Fprintf(page, "| `%s` | %s | %s |\n", p.Name, cellOf(p.Says), is)
		}
	}
	page.WriteString("\n| gate | how | why |\n|---|---|---|\n")
	for _, g := range r.Gates {
		fmt.Fprintf(page, "| `%s` | %s | %s %s |\n", g.Gate["name"], g.Asked(), cellOf(sentence(g.Why)), cited(r, g.Sources))
	}
	if len(r.Hooks) > 0 {
		page.WriteString("\n| hook | how | why |\n|---|---|---|\n")
	}
	for _, h := range r.Hooks {
		fmt.Fprintf(page, "| `%s` | %s | %s %s |\n", h.Hook["name"], h.Run(), cellOf(sentence(h.Why)), cited(r, h.Sources))
	}
	adviceList(page, r, "Before the move", r.Needs)
	adviceList(page, r, "Never", r.Never)
	page.WriteString("\n**What it cannot do**\n\n")
	for _, limit := range r.Limits {
		fmt.Fprintf(page, "- %s\n", sentence(limit))
	}
}

func adviceList(page *strings.Builder, r recipes.Recipe, title string, all []recipes.Advice) {
	fmt.Fprintf(page, "\n**%s**\n\n", title)
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

// cited returns links to sources.
func cited(r recipes.Recipe, ids []string) string {
	var links []string
	for _, id := range ids {
		for _, s := range r.Sources {
			if s.ID == id {
				links = append(links, fmt.Sprintf("[[%s]](%s)", s.Title, s.URL))
			}
		}
	}
	return strings.Join(links, " ")
}
