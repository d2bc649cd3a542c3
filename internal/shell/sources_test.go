package shell

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// verbs are the kubectl verbs in messages.
const verbs = `(get|describe|delete|patch|edit|annotate|label|logs|create|apply|scale|rollout|cordon|uncordon|taint|migrate)`

var (
	// formatted matches a command with an unquoted value, or one that begins with a value.
	formatted = regexp.MustCompile(`kubectl [^;,:()\n]*%[+#]?[sdvqtx]|%(\[\d+\])?[sv] ` + verbs + ` (-|%|[a-z./]+ (-|%))`)
	// open matches an incomplete command.
	open = regexp.MustCompile(`kubectl ([^;,:()\n]* )?$|^ ` + verbs + ` [^;,()\n]* $`)
)

// TestK7Sources: all commands in messages are built by this package.
func TestK7Sources(t *testing.T) {
	eachSource(t, func(files *token.FileSet, file *ast.File) {
		for _, at := range assembled(file) {
			t.Errorf("%s: build the command from words, with Do or Command", files.Position(at))
		}
	})
}

// TestV6Sources: no word of a sentence follows a command that Commands would take as part of the command.
func TestV6Sources(t *testing.T) {
	eachSource(t, func(files *token.FileSet, file *ast.File) {
		for _, at := range runsOn(file) {
			t.Errorf("%s: end the command before the sentence goes on, with a comma, a semicolon or a bracket", files.Position(at))
		}
	})
}

// eachSource calls do with each file that may contain a command.
func eachSource(t *testing.T, do func(*token.FileSet, *ast.File)) {
	t.Helper()
	root := filepath.Join("..", "..")
	for _, tree := range []string{"cmd", "internal", "migration", "pdb", "slices", "volumes", "workload", "mover"} {
		err := filepath.WalkDir(filepath.Join(root, tree), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.Contains(path, filepath.Join("internal", "shell")) || filepath.Base(path) == "environment.go" { // that has the program's own name
				return err
			}
			files := token.NewFileSet()
			file, err := parser.ParseFile(files, path, nil, 0)
			if err == nil {
				do(files, file)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// builders are the functions that return a command.
var builders = map[string]bool{"Do": true, "Migrate": true, "Format": true, "Command": true, "command": true, "Again": true}

// sentence matches text that may follow a command without becoming part of it.
var sentence = regexp.MustCompile(`^($|[;,:).\n]| \|| &&| \(| > | --?[a-z])`)

// verbOf matches a verb of a format, except one in quotes.
var verbOf = regexp.MustCompile(`%(?:\[(\d+)\])?[+#]?[a-pr-z]`)

// runsOn returns the places where a sentence continues directly after a command.
func runsOn(file *ast.File) (found []token.Pos) {
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BinaryExpr:
			last := n.X
			if inner, is := last.(*ast.BinaryExpr); is {
				last = inner.Y
			}
			if after, is := literal(n.Y); is && n.Op == token.ADD && command(last) && !sentence.MatchString(after) {
				found = append(found, n.Y.Pos())
			}
		case *ast.CallExpr:
			if len(n.Args) == 0 {
				return true
			}
			format, is := literal(n.Args[0])
			if !is {
				return true
			}
			for i, at := range verbOf.FindAllStringSubmatchIndex(format, -1) {
				value := i + 1
				if at[2] >= 0 {
					value, _ = strconv.Atoi(format[at[2]:at[3]])
				}
				if value < len(n.Args) && command(n.Args[value]) && !sentence.MatchString(format[at[1]:]) {
					found = append(found, n.Args[value].Pos())
				}
			}
		}
		return true
	})
	return found
}

func literal(e ast.Expr) (string, bool) {
	l, is := e.(*ast.BasicLit)
	if !is || l.Kind != token.STRING {
		return "", false
	}
	text, err := strconv.Unquote(l.Value)
	return text, err == nil
}

func command(e ast.Expr) bool {
	call, is := e.(*ast.CallExpr)
	if !is {
		return false
	}
	f, is := call.Fun.(*ast.SelectorExpr)
	if !is || len(call.Args) == 0 {
		return false
	}
	if of, selects := call.Args[0].(*ast.SelectorExpr); selects && f.Sel.Name == "Format" { // a time's Format
		x, named := of.X.(*ast.Ident)
		return !named || x.Name != "time"
	}
	return builders[f.Sel.Name]
}

// TestV6RunsOn: runsOn finds the violations.
func TestV6RunsOn(t *testing.T) {
	for text, want := range map[string]int{
		`k.Do("get", "pods") + " and wait"`:                                   1,
		`"see " + k.Do("get", "pods") + " and wait"`:                          1,
		`fmt.Sprintf("see %s and wait", k.Do("get", "pods"))`:                 1,
		`fmt.Sprintf("%[2]s: see %[1]s and wait", k.Do("get", "pods"), name)`: 1,
		`fmt.Sprintf("see %s; then %s", k.Do("get", "pods"), name)`:           0,
		`"see " + k.Do("get", "pods") + ", and wait"`:                         0,
	} {
		file, err := parser.ParseFile(token.NewFileSet(), "", "package a\nvar _ = "+text, 0)
		if err != nil {
			t.Fatal(err)
		}
		if got := runsOn(file); len(got) != want {
			t.Errorf("%s: %d, want %d", text, len(got), want)
		}
	}
}

// assembled returns the places where a command is built by a format or a concatenation.
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

// TestK7Assembled: assembled finds the violations.
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
