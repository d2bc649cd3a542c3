package figures

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const page = `a
<!-- figures: written by make hostile -->
old

Measured at commit 1.
<!-- end of figures -->
b
<!-- figures: written by make chaos -->
kept

Measured at commit 2.
<!-- end of figures -->
`

// repository returns a repository with the packages of the figures of make hostile.
func repository(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	put := func(name, text string) {
		file := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put("go.mod", "module example.com")
	put("page.md", page)
	for _, name := range about["hostile"] {
		put(name+"/a.go", "package a\n\nconst A = 1\n")
		put(name+"/a_test.go", "package a\n")
	}
	return root
}

// TestWrite: the figures of a run replace its former ones, and no others.
func TestWrite(t *testing.T) {
	file := filepath.Join(repository(t), "page.md")
	if err := Write(file, "hostile", "new\n"); err != nil {
		t.Fatal(err)
	}
	got := read(t, file)
	if !strings.Contains(got, "make hostile -->\nnew\n\nMeasured at commit unknown.\n<!-- end of figures; code: migration ") ||
		!strings.Contains(got, "make chaos -->\nkept\n\nMeasured at commit 2.\n<!-- end of figures -->\n") {
		t.Errorf("got %s", got)
	}
	if err := Write(file, "swing", "new"); err == nil {
		t.Error("a page without a place for them was taken")
	}
}

// TestRefresh: figures list the code that has changed since. Code without a recorded hash counts as changed.
func TestRefresh(t *testing.T) {
	root := repository(t)
	file := filepath.Join(root, "page.md")
	if err := Write(file, "hostile", "new"); err != nil {
		t.Fatal(err)
	}
	edit := func(name, text string) {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Refresh(file, true); err != nil {
			t.Fatal(err)
		}
	}
	const same = "Measured at commit unknown.\n"
	if stale, err := Refresh(file, false); err != nil || !stale {
		t.Errorf("old figures do not say that their code is not known, and that is not found: %v", err)
	}
	edit("pdb/a_test.go", "package other\n")
	edit("migration/a.go", "package a\n\n// A is told.\nconst A = 1 // here\n")
	if got := read(t, file); !strings.Contains(got, same) {
		t.Errorf("tests and comments have changed the code: %s", got)
	}
	if got := read(t, file); !strings.Contains(got, "Measured at commit 2. Changed since: `migration`, ") {
		t.Errorf("the code of old figures is known: %s", got)
	}
	edit("migration/a.go", "package a\n\nconst A = 2\n")
	edit("pdb/b.go", "package a\n")
	if got := read(t, file); !strings.Contains(got, "Measured at commit unknown. Changed since: `migration`, `pdb`.\n") {
		t.Errorf("a change is not told: %s", got)
	}
	edit("migration/a.go", "package a\n\nconst A = 1\n")
	if err := os.Remove(filepath.Join(root, "pdb/b.go")); err != nil {
		t.Fatal(err)
	}
	edit("pdb/a_test.go", "package a\n")
	if got := read(t, file); !strings.Contains(got, same) {
		t.Errorf("the code is as it was: %s", got)
	}
}

// TestSaidOnce: a page with a single place for changes lists them there for all of its figures, and not at each of them,
// also when some are measured again.
func TestSaidOnce(t *testing.T) {
	root := repository(t)
	file := filepath.Join(root, "page.md")
	const begin, end = "<!-- figures: what has changed since -->\n", "<!-- end of what has changed -->\n"
	if err := os.WriteFile(file, []byte(page+begin+end+"c\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Refresh(file, true); err != nil {
		t.Fatal(err)
	}
	if got := read(t, file); strings.Count(got, "hanged since") != 2 || !strings.Contains(got, begin+"Changed since these figures were measured, by `make hostile` and `make chaos`: `migration`, ") {
		t.Errorf("it is not said once: %s", got)
	}
	for _, target := range []string{"hostile", "chaos"} {
		if err := Write(file, target, "new"); err != nil {
			t.Fatal(err)
		}
		want := begin + "Changed since these figures were measured, by `make chaos`: `migration`, "
		if target == "chaos" {
			want = begin + end + "c\n"
		}
		if got := read(t, file); !strings.Contains(got, want) {
			t.Errorf("after %s it says: %s", target, got)
		}
	}
	if stale, err := Refresh(file, false); err != nil || stale {
		t.Errorf("what was written is stale: %v", err)
	}
	if err := os.WriteFile(filepath.Join(root, "pdb/a.go"), []byte("package a\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if stale, err := Refresh(file, false); err != nil || !stale {
		t.Errorf("a change is not found: %v", err)
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
