package main

import (
	"context"
	"encoding/json"
	"errors"
	"go/ast"
	"go/token"
	"go/types"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	gopackages "golang.org/x/tools/go/packages"

	"github.com/sliceshift/sliceshift/internal/program"
)

// module is the path of this module.
const module = "github.com/sliceshift/sliceshift"

// packages lists the packages with logic. In a package that is not whole, only the files without side effects are in
// scope.
var packages = []struct {
	name  string
	whole bool
}{{"pdb", true}, {"volumes", true}, {"volumes/copy", true}, {"volumes/copy/manifest", true}, {"volumes/snapshot", true}, {"migration/berths", true}, {"migration/plan", true}, {"migration/planner", true}, {"migration/simulate", true}, {"migration/queue", true}, {"migration/world", false}, {"migration/preflight", false}, {"migration/engine", false}, {"slices/decide", true}, {"slices/observe", false}, {"slices/execute", false}, {"slices", false}}

// effects matches imports of a file with side effects: it reads or writes, can be cancelled, logs, or shares state.
var effects = regexp.MustCompile(`^(context|log|math/rand|net|os|sync)(/|$)|^k8s\.io/(client-go|klog)/|^sigs\.k8s\.io/controller-runtime(/|$)|^github\.com/go-logr/`)

// source is a file in which faults are planted.
type source struct {
	// file is its path from the root of the repository.
	file string
	text []byte
	tree *ast.File
	set  *token.FileSet
	info *types.Info
	pkg  *types.Package
	// planted is its text with all faults, each behind its switch.
	planted string
}

// dir returns the directory of the source's package.
func (s *source) dir() string { return path.Dir(s.file) }

// inScope returns the files in which faults are planted.
func inScope(ctx context.Context, since, only string) ([]*source, error) {
	match, err := regexp.Compile(only)
	if err != nil {
		return nil, err
	}
	changed, err := changedSince(ctx, since)
	if err != nil {
		return nil, err
	}
	loaded, err := load(ctx)
	if err != nil {
		return nil, err
	}
	var found []*source
	for _, p := range packages {
		for _, s := range loaded[p.name] {
			decides := p.whole || !hasEffects(s.tree)
			if decides && !ast.IsGenerated(s.tree) && match.MatchString(s.file) && (since == "" || slices.Contains(changed, s.file)) {
				found = append(found, s)
			}
		}
	}
	return found, nil
}

func hasEffects(tree *ast.File) bool {
	return slices.ContainsFunc(tree.Imports, func(i *ast.ImportSpec) bool {
		name, err := strconv.Unquote(i.Path.Value)
		return err != nil || effects.MatchString(name)
	})
}

// load reads and type-checks the files of the packages, without their tests, and returns them by package.
func load(ctx context.Context) (map[string][]*source, error) {
	names := make([]string, 0, len(packages))
	for _, p := range packages {
		names = append(names, "./"+p.name)
	}
	loaded, err := gopackages.Load(&gopackages.Config{Context: ctx, Mode: gopackages.LoadSyntax}, names...)
	if err != nil {
		return nil, err
	}
	found := map[string][]*source{}
	for _, pkg := range loaded {
		for _, wrong := range pkg.Errors {
			return nil, wrong
		}
		dir := strings.TrimPrefix(pkg.PkgPath, module+"/")
		for i, tree := range pkg.Syntax {
			text, err := os.ReadFile(pkg.CompiledGoFiles[i])
			if err != nil {
				return nil, err
			}
			file := path.Join(dir, filepath.Base(pkg.CompiledGoFiles[i]))
			found[dir] = append(found[dir], &source{file: file, text: text, tree: tree, set: pkg.Fset, info: pkg.TypesInfo, pkg: pkg.Types})
		}
	}
	return found, nil
}

// changedSince returns the files whose code differs from that of a commit. A file that was only renamed, or in which
// only imports differ, is not among them.
func changedSince(ctx context.Context, since string) ([]string, error) {
	if since == "" {
		return nil, nil
	}
	out, err := program.In{}.Output(ctx, "git", "diff", "--find-renames", "--unified=0", "--relative", since)
	return changedIn(out), err
}

// movedOnly matches the lines of a difference that do not change what a file does: its package, its imports, and blanks.
var movedOnly = regexp.MustCompile(`^[+-](package \w+|\s*(import )?(\w+ )?"[^"]+"|\s*)$`)

// changedIn returns the files of a difference, as git prints it, that have another changed line.
func changedIn(difference string) []string {
	var files []string
	file := ""
	for line := range strings.SplitSeq(difference, "\n") {
		if name, is := strings.CutPrefix(line, "+++ "); is {
			file = strings.TrimPrefix(name, "b/") // /dev/null for a file that was deleted
			continue
		}
		changed := strings.HasPrefix(line, "+") || strings.HasPrefix(line, "-") && !strings.HasPrefix(line, "--- ")
		if changed && file != "/dev/null" && !movedOnly.MatchString(line) && !slices.Contains(files, file) {
			files = append(files, file)
		}
	}
	return files
}

// head returns the commit that is checked out.
func head(ctx context.Context) (string, error) {
	return program.In{}.Output(ctx, "git", "rev-parse", "HEAD")
}

// writeJSON writes a value to a file and creates its directory.
func writeJSON(file string, value any) error {
	data, err := json.MarshalIndent(value, "", " ")
	return errors.Join(err, os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, data, 0o644))
}

// Texts for users are not mutated, because tests do not check every word.

// forPeople matches fields that hold texts for users.
var forPeople = regexp.MustCompile(`^(Message|Remedy|Text|Title)$`)

// isWording reports whether a function only formats a text: it returns a string, and formats it.
func (p *planter) isWording(decl *ast.FuncDecl) bool {
	results := decl.Type.Results
	if results == nil || len(results.List) != 1 || p.words(results.List[0].Type) != "string" {
		return false
	}
	formats := false
	ast.Inspect(decl.Body, func(node ast.Node) bool {
		if call, ok := node.(*ast.CallExpr); ok {
			name := p.words(call.Fun)
			formats = formats || strings.HasPrefix(name, "fmt.") || name == "strings.Join"
		}
		return !formats
	})
	return formats
}

// isWords reports whether an expression is a text for users: it is formatted, or has blanks.
func (p *planter) isWords(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.CallExpr:
		return strings.HasPrefix(p.words(e.Fun), "fmt.")
	case *ast.BinaryExpr:
		return e.Op == token.ADD && p.is(e, types.IsString) && (p.isWords(e.X) || p.isWords(e.Y))
	case *ast.BasicLit:
		return e.Kind == token.STRING && strings.Contains(strings.TrimSpace(e.Value), " ")
	}
	return false
}

// onlyWords reports whether statements only assign texts.
func (p *planter) onlyWords(list []ast.Stmt) bool {
	return len(list) > 0 && !slices.ContainsFunc(list, func(s ast.Stmt) bool {
		assign, ok := s.(*ast.AssignStmt)
		return !ok || !p.assignsWords(assign)
	})
}

func (p *planter) assignsWords(s *ast.AssignStmt) bool {
	if len(s.Lhs) != 1 || !p.is(s.Lhs[0], types.IsString) {
		return false
	}
	if field, ok := s.Lhs[0].(*ast.SelectorExpr); ok && forPeople.MatchString(field.Sel.Name) {
		return true
	}
	return p.isWords(s.Rhs[0])
}
