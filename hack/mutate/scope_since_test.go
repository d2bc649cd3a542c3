package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestChangedIn: a file counts as changed by a line of its code, and not by a rename, its package or its imports.
func TestChangedIn(t *testing.T) {
	const difference = `diff --git a/old/moved.go b/new/moved.go
similarity index 98%
rename from old/moved.go
rename to new/moved.go
--- a/old/moved.go
+++ b/new/moved.go
@@ -1 +1 @@
-package old
+package new
@@ -4,2 +4,2 @@
-	api "example.com/old"
+	api "example.com/new"
diff --git a/before.go b/before.go
similarity index 100%
rename from before.go
rename to after.go
diff --git a/code.go b/code.go
--- a/code.go
+++ b/code.go
@@ -7 +7 @@
-	return a < b
+	return a <= b
@@ -9 +9 @@
-	return "a"
diff --git a/gone.go b/gone.go
--- a/gone.go
+++ /dev/null
@@ -1,2 +0,0 @@
-import "fmt"
-var x = 2
diff --git a/new.go b/new.go
--- /dev/null
+++ b/new.go
@@ -0,0 +1,2 @@
+package p
+var x = 1
`
	if diff := cmp.Diff([]string{"code.go", "new.go"}, changedIn(difference)); diff != "" {
		t.Error(diff)
	}
}
