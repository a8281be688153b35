//! Reads the YANG modules of the site from their folder, and compiles them with those of the server.

use std::fs;
use std::path::Path;

use allod_face_restconf::resource_pools;
use allod_face_restconf::yang::Schema;

/// The names and texts of the files `*.yang`, by name.
pub fn read(folder: &Path) -> Result<Vec<(String, String)>, String> {
    let unreadable = |path: &Path, why: std::io::Error| {
        format!("{} cannot be read (restconf.modules): {why}", path.display())
    };
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).map_err(|why| unreadable(folder, why))? {
        let path = entry.map_err(|why| unreadable(folder, why))?.path();
        if path.extension().is_some_and(|extension| extension == "yang") {
            let text = fs::read_to_string(&path).map_err(|why| unreadable(&path, why))?;
            files.push((path.display().to_string(), text));
        }
    }
    files.sort_unstable();
    Ok(files)
}

/// Compiles all modules. `site`: those of the site, which are among them. An error names the file and the line.
pub fn compile(all: &[(&str, &str)], site: &[(&str, &str)]) -> Result<Schema, String> {
    let schema = Schema::compile(all).map_err(|error| error.to_string())?;
    let is_site = |text: &str| site.iter().any(|(_, own)| *own == text);
    let mut names = Vec::new();
    for (_, module) in schema.modules() {
        if is_site(&module.text) {
            names.push(&*module.name);
        } else if let Some((submodule, _)) = module.submodules.first() {
            return Err(format!(
                "the submodule {submodule} belongs to {}, which is a module of the server; augment it instead",
                module.name
            ));
        }
    }
    resource_pools::check_modules(&schema, &names).map_err(|error| error.to_string())?;
    Ok(schema)
}

#[cfg(test)]
mod tests {
    use allod_face_restconf::yang::embedded;

    use super::*;

    const MODULE: &str = "module acme {
        yang-version 1.1; namespace \"urn:acme\"; prefix a;
        import resource-allocator { prefix r; }
        import id-allocator { prefix i; }
        augment \"/r:resource-pools/i:id-pool\" { leaf region { type string; } }
    }";

    fn compiled(folder: &Path) -> Result<Schema, String> {
        let site = read(folder)?;
        let site: Vec<(&str, &str)> = site.iter().map(|(file, text)| (&**file, &**text)).collect();
        compile(&[embedded::PROTOCOL, resource_pools::MODULES, &site].concat(), &site)
    }

    #[test]
    fn folder_is_read_and_errors_name_the_file_and_the_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        assert!(compiled(folder.path()).is_ok());
        fs::write(path("anything.yang"), MODULE).unwrap();
        fs::write(path("README"), "no module").unwrap();
        let schema = compiled(folder.path()).unwrap();
        assert!(schema.module_named("acme").is_some());

        fs::write(
            path("wrong.yang"),
            MODULE.replace("module acme", "module b").replace("leaf", "\nrpc"),
        )
        .unwrap();
        let error = compiled(folder.path()).unwrap_err();
        assert!(error.starts_with(&format!("{}:6: ", path("wrong.yang").display())), "{error}");
        fs::remove_file(path("wrong.yang")).unwrap();

        let part = "submodule part { yang-version 1.1; belongs-to id-allocator { prefix i; } leaf x { type string; } }";
        fs::write(path("part.yang"), part).unwrap();
        let error = compiled(folder.path()).unwrap_err();
        assert!(error.contains("the submodule part belongs to id-allocator"), "{error}");

        let error = read(&path("nowhere")).unwrap_err();
        assert!(error.contains("nowhere cannot be read (restconf.modules)"), "{error}");
    }
}
