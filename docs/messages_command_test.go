package docs

import (
	"go/ast"
	"strings"
)

// commands are what begins a command for one cluster, and what shows or deletes an object there. What stands for the cluster
// is left out.
var commands = map[string]string{
	"Kubectl": "kubectl", "Describe": "kubectl describe pvc -n … …", "Delete": "kubectl delete pvc -n … …", "DescribeVolume": "kubectl describe pv …",
	"describe": "kubectl describe pod -n … …",
}

// command is what an expression says that is a command for one cluster, and whether it is one.
func command(of ast.Expr) (string, bool) {
	call, is := of.(*ast.CallExpr)
	if !is {
		return "kubectl", strings.EqualFold(nameOf(of), "kubectl")
	}
	name := nameOf(call.Fun)
	if name == "Command" && len(call.Args) > 0 {
		form, given := literal(call.Args[0])
		return "kubectl " + filled(form, call.Args[1:]), given
	}
	if name == "Migrate" {
		arguments, given := literal(call.Args[2])
		return "kubectl migrate " + arguments, given
	}
	text, is := commands[name]
	return text, is
}

// filled is a form with the commands that are among its arguments.
func filled(form string, arguments []ast.Expr) string {
	at := -1
	return verb.ReplaceAllStringFunc(form, func(of string) string {
		if at++; at < len(arguments) && !strings.Contains(of, "[") {
			if text, is := command(arguments[at]); is {
				return text
			}
		}
		return unknown
	})
}
