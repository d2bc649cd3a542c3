package shell

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// verbs are those of kubectl that messages have.
const verbs = `(get|describe|delete|patch|edit|annotate|label|logs|create|apply|scale|rollout|cordon|uncordon|taint|migrate)`

var (
	// formatted is a command with a value that is filled in unquoted, or one that begins with a value.
	formatted = regexp.MustCompile(`kubectl [^;,:()\n]*%[+#]?[sdvqtx]|%(\[\d+\])?[sv] ` + verbs + ` (-|%|[a-z./]+ (-|%))`)
	// open is a command to which something is to be added.
	open = regexp.MustCompile(`kubectl ([^;,:()\n]* )?$|^ ` + verbs + ` [^;,()\n]* $`)
)

// TestK7Sources: no command that a message shows is assembled but here.
func TestK7Sources(t *testing.T) {
	root := filepath.Join("..", "..")
	for _, tree := range []string{"cmd", "internal", "migration", "pdb", "slices", "volumes", "workload", "mover"} {
		err := filepath.WalkDir(filepath.Join(root, tree), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.Contains(path, filepath.Join("internal", "shell")) || filepath.Base(path) == "environment.go" { // that has the program's own name
				return err
			}
			files := token.NewFileSet()
			file, err := parser.ParseFile(files, path, nil, 0)
			if err != nil {
				return err
			}
			for _, at := range assembled(file) {
				t.Errorf("%s: build the command from words, with Do or Command", files.Position(at))
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// assembled are the places where a text becomes a command by a format or by addition.
func assembled(file *ast.File) (found []token.Pos) {
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BasicLit:
			if n.Kind == token.STRING && formatted.MatchString(strings.ReplaceAll(n.Value, `\n`, "\n")) {
				found = append(found, n.Pos())
			}
		case *ast.BinaryExpr:
			for i, side := range []ast.Expr{n.X, n.Y} {
				literal, is := side.(*ast.BasicLit)
				if _, both := n.Y.(*ast.BasicLit); n.Op != token.ADD || !is || i == 0 && both {
					continue
				}
				if open.MatchString(strings.Trim(literal.Value, "\"`")) {
					found = append(found, literal.Pos())
				}
			}
		}
		return true
	})
	return found
}

// TestK7Assembled: what the other test is to find it finds.
func TestK7Assembled(t *testing.T) {
	for text, want := range map[string]int{
		`fmt.Sprintf("kubectl get pv %s", x)`:                             1,
		`fmt.Sprintf("%s describe pvc -n %s %s", kubectl, ns, name)`:      1,
		`"look: kubectl describe pv " + x`:                                1,
		`k + " delete pv " + x`:                                           1,
		`fmt.Sprintf("look at volume %s: kubectl get pv; then %s", x, y)`: 0,
		`k.Do("describe", "pv", x)`:                                       0,
	} {
		file, err := parser.ParseFile(token.NewFileSet(), "", "package a\nvar _ = "+text, 0)
		if err != nil {
			t.Fatal(err)
		}
		if got := assembled(file); len(got) != want {
			t.Errorf("%s: %d, want %d", text, len(got), want)
		}
	}
}
