/** The server's picture in client lists: the sluice gate of the web interface, 48 by 48 pixels. */
const PNG =
  'iVBORw0KGgoAAAANSUhEUgAAADAAAAAwCAMAAABg3Am1AAAAaVBMVEUYMEjY8PBgwNjYwGBgkJAAAABIYEgYMEgYSEgYMEgYMEh4eEgYSGCQqM' +
  'BIeHhIkKhIqMAAMEgweJBIqKgwYHjA2PAYYGCQ2NjA8PCo2PBgwMAwSEgweHhgqKgwkJB42NgYMEhgkKhgqMBDFNpKAAAAI3RSTlP//////wD/' +
  'wP9AgP///////wD//////////////////wD//z5M5ngAAAEmSURBVHja7ZbbcoMgEIZXqnKoiQrWU5om7fs/ZBEEyTa20KtMp/+FDv/yqQsOu1' +
  'Cs4pTCrijlbh6YayvgR4l2AzhEiTtAQKSEBThEiy9AwvyFgIKmALSA6zZih5cDw1OQ2UKQ8THLsiMGkCkg+KJcx3IMIJPeiZ2evU47T7kFyiev' +
  '8h/4ywArvVgUEGE+KtDLdxTrZb8LVDVZNIw5cur7wCtxOn9xphVgwVEgyabaBOvAGczmaEd6wPjN22zvHeua1bH3y9k6sweUHnU6v4mE0g50oa' +
  'G2lJWqzAqOFx9tKrtSBDtoyT9cKi7FfMAO2qNKKqJkFZjjNN84j/Yv0fTDOPm456kFJblkpRXF9jdlN72wp7cOujmJyJwGzcnyEvF9+yNc//MJ' +
  'OCcRBUd3GQ8AAAAASUVORK5CYII=';

export const ICON = { src: `data:image/png;base64,${PNG}`, mimeType: 'image/png', sizes: ['48x48'] };
