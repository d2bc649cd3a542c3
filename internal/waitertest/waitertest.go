// Package waitertest judges objects in tests as the tools do that wait for them: by kstatus, which Flux, Helm 4 and others
// use, and by a health script of Argo CD.
package waitertest

import (
	"os"
	"testing"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	lua "github.com/yuin/gopher-lua"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Failer fails a test: a *testing.T, or that of a property test.
type Failer interface {
	Helper()
	Fatalf(format string, args ...any)
}

// Content returns an object as tools read it.
func Content(t Failer, kind schema.GroupVersionKind, object any) map[string]any {
	t.Helper()
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		t.Fatalf("%v", err)
	}
	(&unstructured.Unstructured{Object: content}).SetGroupVersionKind(kind)
	return content
}

// Kstatus returns the status that kstatus computes.
func Kstatus(t Failer, content map[string]any) status.Status {
	t.Helper()
	result, err := status.Compute(&unstructured.Unstructured{Object: content})
	if err != nil {
		t.Fatalf("%v", err)
	}
	return result.Status
}

// Script returns the text of a file.
func Script(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// ArgoHealth runs a script as Argo CD does: the object is the global obj, and the result is a table.
func ArgoHealth(t Failer, script string, content map[string]any) (health, message string) {
	t.Helper()
	engine := lua.NewState(lua.Options{SkipOpenLibs: true})
	defer engine.Close()
	for name, open := range map[string]lua.LGFunction{lua.BaseLibName: lua.OpenBase, lua.TabLibName: lua.OpenTable, lua.StringLibName: lua.OpenString, lua.MathLibName: lua.OpenMath} {
		if err := engine.CallByParam(lua.P{Fn: engine.NewFunction(open), Protect: true}, lua.LString(name)); err != nil {
			t.Fatalf("%v", err)
		}
	}
	engine.SetGlobal("obj", toLua(engine, content))
	if err := engine.DoString(script); err != nil {
		t.Fatalf("%v", err)
	}
	answer, is := engine.Get(-1).(*lua.LTable)
	if !is {
		t.Fatalf("the script returns %v", engine.Get(-1))
	}
	return lua.LVAsString(answer.RawGetString("status")), lua.LVAsString(answer.RawGetString("message"))
}

func toLua(engine *lua.LState, value any) lua.LValue {
	switch value := value.(type) {
	case map[string]any:
		table := engine.NewTable()
		for key, each := range value {
			table.RawSetString(key, toLua(engine, each))
		}
		return table
	case []any:
		table := engine.NewTable()
		for _, each := range value {
			table.Append(toLua(engine, each))
		}
		return table
	case string:
		return lua.LString(value)
	case bool:
		return lua.LBool(value)
	case int64:
		return lua.LNumber(value)
	case float64:
		return lua.LNumber(value)
	default:
		return lua.LNil
	}
}
