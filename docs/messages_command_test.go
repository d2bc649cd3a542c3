package docs

import (
	"go/ast"
	"strings"
)

// commands are the beginnings of commands for one cluster, and the commands that show or delete an object there. The
// option that selects the cluster is omitted.
var commands = map[string]string{
	"Kubectl": "kubectl", "Describe": "kubectl describe pvc -n … …", "Delete": "kubectl delete pvc -n … …", "DescribeVolume": "kubectl describe pv …",
	"describe": "kubectl describe pod -n … …",
}

// command returns the text of an expression that is a command for one cluster, and whether it is one.
func command(of ast.Expr) (string, bool) {
	call, is := of.(*ast.CallExpr)
	if !is {
		return "kubectl", strings.EqualFold(nameOf(of), "kubectl")
	}
	switch name := nameOf(call.Fun); {
	case (name == "Command" || name == "Format") && len(call.Args) > 0:
		form, given := literal(call.Args[0])
		return "kubectl " + filled(form, call.Args[1:]), given
	case name == "Do":
		return "kubectl " + words(call), true
	case name == "Migrate":
		return "kubectl migrate " + words(call), true
	default:
		text, is := commands[name]
		return text, is
	}
}

// words returns the arguments of a command that is built from words. Other arguments are shown as unknown.
func words(call *ast.CallExpr) string {
	all := make([]string, 0, len(call.Args))
	for i, argument := range call.Args {
		text, is := literal(argument)
		switch {
		case is:
			all = append(all, text)
		case call.Ellipsis.IsValid() && i == len(call.Args)-1:
			all = append(all, unknown+" "+unknown)
		default:
			all = append(all, unknown)
		}
	}
	return strings.Join(all, " ")
}

// filled replaces the verbs of a form whose arguments are commands with those commands.
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
